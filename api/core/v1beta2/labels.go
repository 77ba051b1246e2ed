package v1beta2

// Labels on objects of the management plane.
const (
	// ClusterNameLabel names the Cluster that an object belongs to. Every object of a cluster carries it, Secrets
	// included: caches hold nothing else.
	ClusterNameLabel = "cluster.x-k8s.io/cluster-name"

	// MachineControlPlaneLabel marks control plane Machines. Its presence counts, not its value, which is empty.
	MachineControlPlaneLabel = "cluster.x-k8s.io/control-plane"

	// MachineControlPlaneNameLabel names the control plane object that owns a Machine, or a hash of a name that is too
	// long for a label.
	MachineControlPlaneNameLabel = "cluster.x-k8s.io/control-plane-name"

	// MachineSetNameLabel names the MachineSet that owns a Machine, or a hash of a name that is too long for a label.
	MachineSetNameLabel = "cluster.x-k8s.io/set-name"

	// MachineDeploymentNameLabel names the MachineDeployment that a MachineSet or a Machine comes from.
	MachineDeploymentNameLabel = "cluster.x-k8s.io/deployment-name"

	// MachinePoolNameLabel names the MachinePool that owns a Machine, or a hash of a name that is too long for a label.
	MachinePoolNameLabel = "cluster.x-k8s.io/pool-name"

	// MachineDeploymentUniqueLabel tells the MachineSets of a MachineDeployment apart. A MachineSet keeps its value for
	// life, in its labels, its selector, its template and its Machines.
	MachineDeploymentUniqueLabel = "machine-template-hash"

	// ClusterTopologyOwnedLabel marks what is made from a Cluster's topology. Its presence counts, not its value.
	ClusterTopologyOwnedLabel = "topology.cluster.x-k8s.io/owned"

	// ClusterTopologyMachineDeploymentNameLabel holds the name that a topology gives to a MachineDeployment.
	ClusterTopologyMachineDeploymentNameLabel = "topology.cluster.x-k8s.io/deployment-name"

	// ClusterTopologyMachinePoolNameLabel holds the name that a topology gives to a MachinePool.
	ClusterTopologyMachinePoolNameLabel = "topology.cluster.x-k8s.io/pool-name"

	// ProviderNameLabel names the provider that an installed component belongs to.
	ProviderNameLabel = "cluster.x-k8s.io/provider"

	// WatchLabel restricts an object to managers that are started with the same filter value.
	WatchLabel = "cluster.x-k8s.io/watch-filter"
)

// Labels on objects of the workload cluster.
const (
	// InterruptibleLabel marks Nodes whose machine the infrastructure may take away at any time. Its value is empty.
	InterruptibleLabel = "cluster.x-k8s.io/interruptible"

	// PodDrainLabel on a Pod says how draining treats it: skip or wait-completed. It outranks MachineDrainRules.
	PodDrainLabel = "cluster.x-k8s.io/drain"

	// NodeRoleLabelPrefix is the prefix of the labels that give a Node its role. Such labels of a Machine go to its Node.
	NodeRoleLabelPrefix = "node-role.kubernetes.io"

	// NodeRestrictionLabelDomain is the domain of labels that a kubelet may not set itself. Such labels of a Machine go
	// to its Node, those of subdomains too.
	NodeRestrictionLabelDomain = "node-restriction.kubernetes.io"

	// ManagedNodeLabelDomain is the domain of further labels of a Machine that go to its Node, those of subdomains too.
	ManagedNodeLabelDomain = "node.cluster.x-k8s.io"

	// ManagedNodeAnnotationDomain is the domain of a Machine's annotations that go to its Node, those of subdomains too.
	ManagedNodeAnnotationDomain = "node.cluster.x-k8s.io"
)

// Finalizers.
const (
	// ClusterFinalizer holds a Cluster until all that belongs to it is gone.
	ClusterFinalizer = "cluster.cluster.x-k8s.io"

	// MachineFinalizer holds a Machine until its Node is drained and its infrastructure is gone.
	MachineFinalizer = "machine.cluster.x-k8s.io"

	// MachineSetFinalizer holds a MachineSet until its Machines are gone.
	MachineSetFinalizer = "cluster.x-k8s.io/machineset"

	// MachineDeploymentFinalizer holds a MachineDeployment until its MachineSets are gone.
	MachineDeploymentFinalizer = "cluster.x-k8s.io/machinedeployment"

	// MachinePoolFinalizer holds a MachinePool until its infrastructure is gone.
	MachinePoolFinalizer = "machinepool.cluster.x-k8s.io"

	// MachineDeploymentTopologyFinalizer holds a topology's MachineDeployment until its templates are cleaned up.
	MachineDeploymentTopologyFinalizer = "machinedeployment.topology.cluster.x-k8s.io"

	// MachineSetTopologyFinalizer holds a topology's MachineSet until its templates are cleaned up.
	MachineSetTopologyFinalizer = "machineset.topology.cluster.x-k8s.io"
)

// ClusterSecretType is the type of the Secrets that hold a cluster's certificates, kubeconfigs and bootstrap data.
const ClusterSecretType = "cluster.x-k8s.io/secret" //nolint:gosec // a Secret's type, not a secret

// TemplateSuffix ends the kind of every template.
const TemplateSuffix = "Template"
