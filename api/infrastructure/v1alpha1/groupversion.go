package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the group and version of every kind in this package.
	GroupVersion = schema.GroupVersion{Group: "infrastructure.cluster.x-k8s.io", Version: "v1alpha1"}

	// SchemeGroupVersion is GroupVersion under the name that generated apply configurations look for.
	SchemeGroupVersion = GroupVersion
)

// AddToScheme makes every kind of this package known to the scheme. It returns an error only if the scheme already
// knows another Go type by one of these names.
func AddToScheme(scheme *runtime.Scheme) error {
	builder := runtime.NewSchemeBuilder(addKnownTypes)
	return builder.AddToScheme(scheme)
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&SimCluster{}, &SimClusterList{},
		&SimClusterTemplate{}, &SimClusterTemplateList{},
		&SimMachine{}, &SimMachineList{},
		&SimMachineTemplate{}, &SimMachineTemplateList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
