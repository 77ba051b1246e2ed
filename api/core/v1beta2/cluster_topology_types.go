package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Topology describes a Cluster by reference to a ClusterClass: the class gives the shape, the topology the numbers,
// versions and variables of this one Cluster.
type Topology struct {
	// classRef names the ClusterClass that the Cluster is built from.
	// +required
	ClassRef ClusterClassRef `json:"classRef,omitempty,omitzero"`

	// version is the Kubernetes version of the control plane and, after it, of the workers. A missing leading "v" is
	// added on admission. It cannot be lowered.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Version string `json:"version,omitempty"`

	// controlPlane refines the control plane. When unset, the class alone describes it.
	// +optional
	ControlPlane ControlPlaneTopology `json:"controlPlane,omitempty,omitzero"`

	// workers lists the groups of workers of the Cluster. When unset, the Cluster has no workers managed by its
	// topology.
	// +optional
	Workers WorkersTopology `json:"workers,omitempty,omitzero"`

	// variables holds the values of the class's variables, one entry a name. A variable that is absent takes the
	// default of its schema; a required variable without a default must be given.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	Variables []ClusterVariable `json:"variables,omitempty"`
}

// IsDefined reports whether the Cluster has a topology at all.
func (t *Topology) IsDefined() bool {
	return t != nil && (t.ClassRef != ClusterClassRef{} || t.Version != "" || len(t.Variables) > 0 ||
		t.ControlPlane.isDefined() || len(t.Workers.MachineDeployments) > 0 || len(t.Workers.MachinePools) > 0)
}

// ClusterClassRef names a ClusterClass.
type ClusterClassRef struct {
	// name is the name of the ClusterClass.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name,omitempty"`

	// namespace is where the ClusterClass lives. When unset, it is the namespace of the Cluster.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`
}

// ControlPlaneTopology refines the control plane that the class describes.
// +kubebuilder:validation:MinProperties=1
type ControlPlaneTopology struct {
	// metadata is merged into the labels and annotations of the control plane object and of its Machines; keys given
	// here win over those of the class.
	// +optional
	Metadata ObjectMeta `json:"metadata,omitempty,omitzero"`

	// replicas is the number of control plane machines. Leave it unset for control planes that have no such number,
	// as hosted ones.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// rollout says when control plane machines are replaced although nothing about them changed.
	// +optional
	Rollout ControlPlaneTopologyRollout `json:"rollout,omitempty,omitzero"`

	// healthCheck says how broken control plane machines are found and repaired. When unset, the class decides.
	// +optional
	HealthCheck ControlPlaneTopologyHealthCheck `json:"healthCheck,omitempty,omitzero"`

	// deletion bounds the steps of deleting a control plane machine. Each value that is set wins over the class's.
	// +optional
	Deletion MachineDeletionSpec `json:"deletion,omitempty,omitzero"`

	// taints are set on the Nodes of the control plane. When unset, the class's list applies; when set, it replaces
	// that list.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Taints []MachineTaint `json:"taints,omitempty"`

	// readinessGates lists further conditions that a control plane Machine needs to be Ready. When unset, the class's
	// list applies; when set, it replaces that list.
	// +optional
	// +listType=map
	// +listMapKey=conditionType
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	ReadinessGates []MachineReadinessGate `json:"readinessGates,omitempty"`

	// variables overrides values of the topology's variables for the control plane alone.
	// +optional
	Variables TopologyVariables `json:"variables,omitempty,omitzero"`
}

func (c *ControlPlaneTopology) isDefined() bool {
	return c.Replicas != nil || len(c.Metadata.Labels) > 0 || len(c.Metadata.Annotations) > 0 ||
		!c.Rollout.After.IsZero() || c.HealthCheck.IsDefined() || c.Deletion != MachineDeletionSpec{} ||
		len(c.Taints) > 0 || len(c.ReadinessGates) > 0 || len(c.Variables.Overrides) > 0
}

// ControlPlaneTopologyRollout says when control plane machines are replaced on request.
// +kubebuilder:validation:MinProperties=1
type ControlPlaneTopologyRollout struct {
	// after asks for the replacement of every control plane machine created before this time, once the time has
	// passed. When unset, machines are replaced only if what they should be has changed.
	// +optional
	After metav1.Time `json:"after,omitempty,omitzero"`
}

// WorkersTopology lists the groups of workers of a Cluster.
// +kubebuilder:validation:MinProperties=1
type WorkersTopology struct {
	// machineDeployments lists the groups of workers that are MachineDeployments, one entry a name.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2000
	MachineDeployments []MachineDeploymentTopology `json:"machineDeployments,omitempty"`

	// machinePools lists the groups of workers that are MachinePools, one entry a name.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2000
	MachinePools []MachinePoolTopology `json:"machinePools,omitempty"`
}

// MachineDeploymentTopology is one group of workers built from a MachineDeployment class.
type MachineDeploymentTopology struct {
	// metadata is merged into the labels and annotations of the MachineDeployment and of its Machines; keys given here
	// win over those of the class.
	// +optional
	Metadata ObjectMeta `json:"metadata,omitempty,omitzero"`

	// class names the MachineDeployment class of the ClusterClass that describes this group.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Class string `json:"class,omitempty"`

	// name tells this group from the others of the Cluster and is part of the MachineDeployment's name. It cannot be
	// changed: another name is another group.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name,omitempty"`

	// failureDomain is where the machines of this group are placed. When unset, the class decides, and else the
	// provider.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`

	// replicas is the number of machines of this group. When unset, the number is not managed by the topology: it is
	// left to an autoscaler, or is what the MachineDeployment defaults to.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// healthCheck says how broken machines of this group are found and repaired. When unset, the class decides.
	// +optional
	HealthCheck MachineDeploymentTopologyHealthCheck `json:"healthCheck,omitempty,omitzero"`

	// deletion says which machines go first when the group shrinks and bounds the steps of deleting one. Each value
	// that is set wins over the class's.
	// +optional
	Deletion WorkerDeletionSpec `json:"deletion,omitempty,omitzero"`

	// taints are set on the Nodes of this group. When unset, the class's list applies; when set, it replaces that
	// list.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Taints []MachineTaint `json:"taints,omitempty"`

	// minReadySeconds is the number of seconds that a machine must have been Ready to count as Available. When unset,
	// the class decides, and else it is 0: Available as soon as Ready.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`

	// readinessGates lists further conditions that a Machine of this group needs to be Ready. When unset, the class's
	// list applies; when set, it replaces that list.
	// +optional
	// +listType=map
	// +listMapKey=conditionType
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	ReadinessGates []MachineReadinessGate `json:"readinessGates,omitempty"`

	// rollout says when and how the machines of this group are replaced. When unset, the class decides, and else the
	// defaults of MachineDeployment.
	// +optional
	Rollout MachineDeploymentRolloutSpec `json:"rollout,omitempty,omitzero"`

	// variables overrides values of the topology's variables for this group alone.
	// +optional
	Variables TopologyVariables `json:"variables,omitempty,omitzero"`
}

// WorkerDeletionSpec says which machines of a group of workers go first and bounds the steps of deleting one.
// +kubebuilder:validation:MinProperties=1
type WorkerDeletionSpec struct {
	// order says which machines go first when the group shrinks. When unset, it is Random.
	// +optional
	// +kubebuilder:validation:Enum=Random;Newest;Oldest
	Order MachineSetDeletionOrder `json:"order,omitempty"`

	// nodeDrainTimeoutSeconds is the number of seconds that draining a Node may take before its machine is deleted
	// nonetheless. Unset or 0 means that there is no bound.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NodeDrainTimeoutSeconds *int32 `json:"nodeDrainTimeoutSeconds,omitempty"`

	// nodeVolumeDetachTimeoutSeconds is the number of seconds to wait for the volumes of a Node to be detached before
	// its machine is deleted nonetheless. Unset or 0 means that there is no bound.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NodeVolumeDetachTimeoutSeconds *int32 `json:"nodeVolumeDetachTimeoutSeconds,omitempty"`

	// nodeDeletionTimeoutSeconds is the number of seconds to try to delete the Node object of a machine that is gone.
	// Unset means 10 seconds, 0 means that it is tried until it works.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NodeDeletionTimeoutSeconds *int32 `json:"nodeDeletionTimeoutSeconds,omitempty"`
}

// MachinePoolTopology is one group of workers built from a MachinePool class.
type MachinePoolTopology struct {
	// metadata is merged into the labels and annotations of the MachinePool; keys given here win over those of the
	// class.
	// +optional
	Metadata ObjectMeta `json:"metadata,omitempty,omitzero"`

	// class names the MachinePool class of the ClusterClass that describes this group.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Class string `json:"class,omitempty"`

	// name tells this group from the others of the Cluster and is part of the MachinePool's name. It cannot be changed:
	// another name is another group.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name,omitempty"`

	// failureDomains lists where the pool may place its machines. When unset, the class decides, and else the provider.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	FailureDomains []string `json:"failureDomains,omitempty"`

	// deletion bounds the steps of deleting a machine of the pool. Each value that is set wins over the class's.
	// +optional
	Deletion MachineDeletionSpec `json:"deletion,omitempty,omitzero"`

	// taints is kept for providers that set taints by themselves. MachinePools do not propagate it.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Taints []MachineTaint `json:"taints,omitempty"`

	// minReadySeconds is the number of seconds that a machine must have been Ready to count as Available. When unset,
	// the class decides, and else it is 0: Available as soon as Ready.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`

	// replicas is the number of machines of the pool. When unset, the number is not managed by the topology: it is left
	// to an autoscaler, or is what the MachinePool defaults to.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// variables overrides values of the topology's variables for this group alone.
	// +optional
	Variables TopologyVariables `json:"variables,omitempty,omitzero"`
}

// TopologyVariables overrides variables for one part of a Cluster.
// +kubebuilder:validation:MinProperties=1
type TopologyVariables struct {
	// overrides lists the values that differ in this part from those of the topology, one entry a name.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	Overrides []ClusterVariable `json:"overrides,omitempty"`
}

// ClusterVariable is the value of one variable.
type ClusterVariable struct {
	// name is the name of the variable as the ClusterClass defines it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`

	// value is any JSON value that fits the schema which the ClusterClass gives for the variable. A string is written
	// with its quotes.
	// +required
	Value JSON `json:"value,omitempty,omitzero"`
}
