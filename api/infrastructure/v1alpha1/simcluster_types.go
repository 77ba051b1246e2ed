package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
)

// SimClusterFinalizer keeps a SimCluster until its endpoint is closed and what it kept is removed.
const SimClusterFinalizer = "simcluster.infrastructure.cluster.x-k8s.io"

// SimClusterFaultType names something that goes wrong for a whole simulated cluster.
// +kubebuilder:validation:Enum=ZoneDown;EndpointUnreachable
type SimClusterFaultType string

const (
	// ZoneDownFault cuts off every machine of one zone, as a loss of power would; they come back when it ends.
	ZoneDownFault SimClusterFaultType = "ZoneDown"

	// EndpointUnreachableFault makes the cluster's API endpoint refuse connections while its machines run on.
	EndpointUnreachableFault SimClusterFaultType = "EndpointUnreachable"
)

// SimClusterSpec says what surrounds the machines of a simulated cluster: an address, zones, and what goes wrong.
type SimClusterSpec struct {
	// controlPlaneEndpoint is the address of the cluster's Kubernetes API: an address of the computer that Slipway runs
	// on, or a name of one, and a free port. What is unset of it, the controller chooses and writes here: 127.0.0.1, and
	// a port from 30000 to 32767. It cannot be changed once host and port are set.
	// +optional
	ControlPlaneEndpoint clusterv1.APIEndpoint `json:"controlPlaneEndpoint,omitempty,omitzero"`

	// failureDomains are the zones that machines may be put in; 1 to 100. When unset, there are no zones.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []SimFailureDomain `json:"failureDomains,omitempty"`

	// faults are what goes wrong now; each kind of fault may appear once, ZoneDown once for each zone. They may be
	// added and removed at any time. When unset, nothing goes wrong.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +listMapKey=zone
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Faults []SimClusterFault `json:"faults,omitempty"`
}

// SimFailureDomain is one simulated zone.
type SimFailureDomain struct {
	// name of the zone, unique within the cluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`

	// controlPlane tells whether control-plane machines may be put in this zone. When unset, they may not, unless no
	// zone says true: then they may be put in any.
	// +optional
	ControlPlane *bool `json:"controlPlane,omitempty"`
}

// SimClusterFault is something that goes wrong for a whole simulated cluster.
// +kubebuilder:validation:XValidation:rule="(self.type == 'ZoneDown') == (has(self.zone) && size(self.zone) > 0)",message="ZoneDown needs the name of a zone in zone; other faults take none"
type SimClusterFault struct {
	// type is what goes wrong: ZoneDown or EndpointUnreachable.
	// +required
	Type SimClusterFaultType `json:"type,omitempty"`

	// zone is the name of the zone that is down; for ZoneDown only.
	// +optional
	// +default=""
	// +kubebuilder:validation:MaxLength=256
	Zone string `json:"zone,omitempty"`

	// duration is how long the fault lasts, counted from when it was first seen: for example "90s" or "1h30m".
	// When unset, it lasts until it is removed from the list.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="give a duration above 0s, or leave it out to make the fault last until it is removed"
	Duration *metav1.Duration `json:"duration,omitempty"`
}

// SimClusterStatus is what has been observed of a simulated cluster.
// +kubebuilder:validation:MinProperties=1
type SimClusterStatus struct {
	// conditions tell how the cluster's surroundings are: Ready first of all, then FaultFree and Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization is the provider contract's account of the first completion.
	// +optional
	Initialization SimClusterInitializationStatus `json:"initialization,omitempty,omitzero"`

	// failureDomains are the zones of the spec, in the form that the Cluster reads.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []clusterv1.FailureDomain `json:"failureDomains,omitempty"`
}

// SimClusterInitializationStatus tells which first steps are done; a step, once done, stays done.
// +kubebuilder:validation:MinProperties=1
type SimClusterInitializationStatus struct {
	// provisioned is true once the endpoint is chosen, so that machines can be made. Unset means not yet.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=simclusters,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster that the SimCluster belongs to"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether all is well"
// +kubebuilder:printcolumn:name="Host",type="string",JSONPath=".spec.controlPlaneEndpoint.host",description="Host of the cluster's Kubernetes API"
// +kubebuilder:printcolumn:name="Port",type="integer",JSONPath=".spec.controlPlaneEndpoint.port",description="Port of the cluster's Kubernetes API"
// +kubebuilder:printcolumn:name="Faults",type="string",JSONPath=".spec.faults[*].type",description="What is asked to go wrong",priority=10
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=`.status.conditions[?(@.type=="Paused")].status`,description="Whether reconciliation is paused",priority=10
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the SimCluster was created"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.spec) || !has(oldSelf.spec.controlPlaneEndpoint) || !has(oldSelf.spec.controlPlaneEndpoint.host) || !has(oldSelf.spec.controlPlaneEndpoint.port) || has(self.spec) && has(self.spec.controlPlaneEndpoint) && self.spec.controlPlaneEndpoint == oldSelf.spec.controlPlaneEndpoint",message="controlPlaneEndpoint cannot be changed, since Nodes and kubeconfigs know the cluster by it: leave it as it is, or delete the Cluster and make it again with another",fieldPath=".spec.controlPlaneEndpoint",reason=FieldValueForbidden

// SimCluster is the infrastructure of a cluster whose machines are only simulated: an API endpoint on this computer,
// zones to put machines in, and faults to try out.
type SimCluster struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says what the cluster's surroundings shall be. When unset, they have an endpoint and no zones.
	// +optional
	Spec SimClusterSpec `json:"spec,omitempty,omitzero"`

	// status is what has been observed; only the controller writes it.
	// +optional
	Status SimClusterStatus `json:"status,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// SimClusterList is a list of SimClusters.
type SimClusterList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty,omitzero"`

	// items are the SimClusters.
	Items []SimCluster `json:"items"`
}
