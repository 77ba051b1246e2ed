package plane

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/statedir"
)

// hold refuses to make clusters and machines while the disk is nearly full: each would bring many more writes. Everything
// else goes on, deletion above all. It is an admission step in front of all others.
type hold struct{ low atomic.Bool }

var _ admission.ValidationInterface = (*hold)(nil)

// Handles tells that only creations are looked at.
func (h *hold) Handles(op admission.Operation) bool { return op == admission.Create }

// Validate refuses a creation with 507 while the disk is nearly full.
func (h *hold) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if !h.low.Load() || a.GetSubresource() != "" || !held(a) {
		return nil
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInsufficientStorage, Reason: "InsufficientStorage",
		Message: fmt.Sprintf("no %s are created while the management plane's disk has less than %d MiB free: free some space, and creation goes on by itself",
			a.GetResource().Resource, statedir.MinFree>>20),
	}}
}

// held tells of a Cluster, a Machine, or a provider's object for one.
func held(a admission.Attributes) bool {
	group, resource := a.GetResource().Group, a.GetResource().Resource
	if group == clusterv1.GroupVersion.Group {
		return resource == "clusters" || resource == "machines"
	}
	return strings.HasPrefix(group, "infrastructure.") && strings.HasSuffix(resource, "machines")
}
