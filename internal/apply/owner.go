package apply

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
)

// SameOwner reports whether two references name the same owner: group, kind and name count, version and UID do not.
func SameOwner(a, b metav1.OwnerReference) bool {
	return a.Kind == b.Kind && a.Name == b.Name && groupOf(a.APIVersion) == groupOf(b.APIVersion)
}

func groupOf(apiVersion string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return ""
	}
	return group
}

// OwnerConfiguration turns an owner reference into an apply configuration.
func OwnerConfiguration(ref metav1.OwnerReference) *metav1ac.OwnerReferenceApplyConfiguration {
	out := metav1ac.OwnerReference().
		WithAPIVersion(ref.APIVersion).
		WithKind(ref.Kind).
		WithName(ref.Name).
		WithUID(ref.UID)
	if ref.Controller != nil {
		out = out.WithController(*ref.Controller)
	}
	if ref.BlockOwnerDeletion != nil {
		out = out.WithBlockOwnerDeletion(*ref.BlockOwnerDeletion)
	}
	return out
}
