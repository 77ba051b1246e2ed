package v1beta2

// Annotations that users set.
const (
	// PausedAnnotation stops work on the object that carries it. Its presence counts, not its value.
	PausedAnnotation = "cluster.x-k8s.io/paused"

	// ManagedByAnnotation marks an infrastructure cluster that something else manages; its provider leaves it alone.
	ManagedByAnnotation = "cluster.x-k8s.io/managed-by"

	// ReplicasManagedByAnnotation marks a MachinePool whose replicas follow the infrastructure.
	ReplicasManagedByAnnotation = "cluster.x-k8s.io/replicas-managed-by"

	// DeleteMachineAnnotation makes a Machine the first to go when its owner shrinks. Its presence counts.
	DeleteMachineAnnotation = "cluster.x-k8s.io/delete-machine"

	// RemediateMachineAnnotation makes a Machine count as unhealthy. Its presence counts.
	RemediateMachineAnnotation = "cluster.x-k8s.io/remediate-machine"

	// MachineSkipRemediationAnnotation keeps health checks away from a Machine. Its presence counts.
	MachineSkipRemediationAnnotation = "cluster.x-k8s.io/skip-remediation"

	// DisableMachineCreateAnnotation with the value "true" keeps a MachineSet from creating Machines.
	DisableMachineCreateAnnotation = "cluster.x-k8s.io/disable-machine-create"

	// ExcludeNodeDrainingAnnotation lets a Machine be deleted without draining its Node. Its presence counts.
	ExcludeNodeDrainingAnnotation = "machine.cluster.x-k8s.io/exclude-node-draining"

	// ExcludeWaitForNodeVolumeDetachAnnotation lets a Machine be deleted while volumes are attached to its Node. Its
	// presence counts.
	ExcludeWaitForNodeVolumeDetachAnnotation = "machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach"

	// MachineCertificatesExpiryDateAnnotation, on a bootstrap object or a Machine, is when the first certificate expires,
	// as RFC 3339. The Machine's wins.
	MachineCertificatesExpiryDateAnnotation = "machine.cluster.x-k8s.io/certificates-expiry"

	// PreDrainDeleteHookAnnotationPrefix begins the annotations that hold a Machine's deletion before its Node is drained.
	PreDrainDeleteHookAnnotationPrefix = "pre-drain.delete.hook.machine.cluster.x-k8s.io"

	// PreTerminateDeleteHookAnnotationPrefix begins the annotations that hold a Machine's deletion before its
	// infrastructure is deleted.
	PreTerminateDeleteHookAnnotationPrefix = "pre-terminate.delete.hook.machine.cluster.x-k8s.io"

	// BeforeClusterUpgradeHookAnnotationPrefix begins the annotations that hold the start of a topology's upgrade.
	BeforeClusterUpgradeHookAnnotationPrefix = "before-upgrade.hook.cluster.cluster.x-k8s.io"

	// MachineSetSkipPreflightChecksAnnotation lists, separated by commas, the preflight checks that a MachineSet skips.
	MachineSetSkipPreflightChecksAnnotation = "machineset.cluster.x-k8s.io/skip-preflight-checks"

	// AutoscalerMinSizeAnnotation is the least number of replicas that the autoscaler may ask for.
	AutoscalerMinSizeAnnotation = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"

	// AutoscalerMaxSizeAnnotation is the greatest number of replicas that the autoscaler may ask for.
	AutoscalerMaxSizeAnnotation = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"

	// ClusterTopologyDeferUpgradeAnnotation keeps a part of a topology at its version. Its presence counts.
	ClusterTopologyDeferUpgradeAnnotation = "topology.cluster.x-k8s.io/defer-upgrade"

	// ClusterTopologyHoldUpgradeSequenceAnnotation keeps a part of a topology, and all after it, at its version. Its
	// presence counts.
	ClusterTopologyHoldUpgradeSequenceAnnotation = "topology.cluster.x-k8s.io/hold-upgrade-sequence"

	// ClusterTopologyUpgradeConcurrencyAnnotation is how many parts of a topology may upgrade at once; unset means 1.
	ClusterTopologyUpgradeConcurrencyAnnotation = "topology.cluster.x-k8s.io/upgrade-concurrency"

	// ClusterTopologyUnsafeUpdateClassNameAnnotation lets a Cluster take on or change its class unchecked.
	ClusterTopologyUnsafeUpdateClassNameAnnotation = "unsafe.topology.cluster.x-k8s.io/disable-update-class-name-check"

	// ClusterTopologyUnsafeUpdateVersionAnnotation lets a topology's version change unchecked.
	ClusterTopologyUnsafeUpdateVersionAnnotation = "unsafe.topology.cluster.x-k8s.io/disable-update-version-check"
)

// Annotations that controllers set on objects of the management plane.
const (
	// TemplateClonedFromNameAnnotation names the template that an object was made from.
	TemplateClonedFromNameAnnotation = "cluster.x-k8s.io/cloned-from-name"

	// TemplateClonedFromGroupKindAnnotation is the kind and group of the template that an object was made from, as
	// Kind.group.
	TemplateClonedFromGroupKindAnnotation = "cluster.x-k8s.io/cloned-from-groupkind"

	// RevisionAnnotation numbers the MachineSets of a MachineDeployment in the order they became current.
	RevisionAnnotation = "machinedeployment.clusters.x-k8s.io/revision"

	// DesiredReplicasAnnotation, on a MachineSet, is the number of replicas its MachineDeployment wanted when the set was
	// last scaled.
	DesiredReplicasAnnotation = "machinedeployment.clusters.x-k8s.io/desired-replicas"

	// MaxReplicasAnnotation, on a MachineSet, is the number of replicas that its MachineDeployment may reach with surge.
	MaxReplicasAnnotation = "machinedeployment.clusters.x-k8s.io/max-replicas"

	// ClusterTopologyUpgradeStepAnnotation, on a Cluster, is the version that an upgrade through several is at.
	ClusterTopologyUpgradeStepAnnotation = "topology.internal.cluster.x-k8s.io/upgrade-step"

	// TopologyDryRunAnnotation marks the requests that only ask what applying an object would change.
	TopologyDryRunAnnotation = "topology.cluster.x-k8s.io/dry-run"

	// UpdateInProgressAnnotation marks a Machine, and its bootstrap and infrastructure objects, while they are updated in
	// place.
	UpdateInProgressAnnotation = "in-place-updates.internal.cluster.x-k8s.io/update-in-progress"

	// PendingAcknowledgeMoveAnnotation marks a Machine that came from another MachineSet until the new one counts it.
	PendingAcknowledgeMoveAnnotation = "in-place-updates.internal.cluster.x-k8s.io/pending-acknowledge-move"

	// AcknowledgedMoveAnnotation lists the Machines whose move to a MachineSet its MachineDeployment has counted.
	AcknowledgedMoveAnnotation = "in-place-updates.internal.cluster.x-k8s.io/acknowledged-move"

	// MachineSetMoveMachinesToMachineSetAnnotation names the MachineSet that an old MachineSet hands its Machines to.
	MachineSetMoveMachinesToMachineSetAnnotation = "in-place-updates.internal.cluster.x-k8s.io/move-machines-to-machineset"

	// MachineSetReceiveMachinesFromMachineSetsAnnotation lists the MachineSets that a new MachineSet takes Machines from.
	MachineSetReceiveMachinesFromMachineSetsAnnotation = "in-place-updates.internal.cluster.x-k8s.io/receive-machines-from-machinesets"

	// CRDMigrationObservedGenerationAnnotation, on a CRD, is the generation whose storage migration is done.
	CRDMigrationObservedGenerationAnnotation = "crd-migration.cluster.x-k8s.io/observed-generation"
)

// Annotations that the Machine's controller sets on its Node.
const (
	// ClusterNameAnnotation names the Node's Cluster.
	ClusterNameAnnotation = "cluster.x-k8s.io/cluster-name"

	// ClusterNamespaceAnnotation is the namespace of the Node's Cluster.
	ClusterNamespaceAnnotation = "cluster.x-k8s.io/cluster-namespace"

	// MachineAnnotation names the Node's Machine.
	MachineAnnotation = "cluster.x-k8s.io/machine"

	// OwnerKindAnnotation is the kind of the Machine's owner.
	OwnerKindAnnotation = "cluster.x-k8s.io/owner-kind"

	// OwnerNameAnnotation names the Machine's owner.
	OwnerNameAnnotation = "cluster.x-k8s.io/owner-name"

	// LabelsFromMachineAnnotation lists, separated by commas, the labels that came from the Machine.
	LabelsFromMachineAnnotation = "cluster.x-k8s.io/labels-from-machine"

	// AnnotationsFromMachineAnnotation lists, separated by commas, the annotations that came from the Machine.
	AnnotationsFromMachineAnnotation = "cluster.x-k8s.io/annotations-from-machine"

	// TaintsFromMachineAnnotation lists, separated by commas, the taints that came from the Machine, as key:effect. That
	// it is there at all means that the Node's first taints are set.
	TaintsFromMachineAnnotation = "cluster.x-k8s.io/taints-from-machine"
)
