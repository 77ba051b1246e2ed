package v1beta2

const (
	// KubeadmControlPlaneFinalizer keeps a KubeadmControlPlane until its machines are gone.
	KubeadmControlPlaneFinalizer = "kubeadm.controlplane.cluster.x-k8s.io"

	// PreTerminateHookCleanupAnnotation on a control-plane Machine holds its deletion until its etcd member has left.
	PreTerminateHookCleanupAnnotation = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup"

	// SkipCoreDNSAnnotation on a KubeadmControlPlane leaves the cluster's CoreDNS alone.
	SkipCoreDNSAnnotation = "controlplane.cluster.x-k8s.io/skip-coredns"

	// SkipKubeProxyAnnotation on a KubeadmControlPlane leaves the cluster's kube-proxy alone.
	SkipKubeProxyAnnotation = "controlplane.cluster.x-k8s.io/skip-kube-proxy"

	// KubeadmClusterConfigurationAnnotation was put on Machines by older versions; it is removed where found.
	KubeadmClusterConfigurationAnnotation = "controlplane.cluster.x-k8s.io/kubeadm-cluster-configuration"

	// RemediationInProgressAnnotation on a KubeadmControlPlane holds as JSON which machine is being replaced.
	RemediationInProgressAnnotation = "controlplane.cluster.x-k8s.io/remediation-in-progress"

	// RemediationForAnnotation on a Machine holds as JSON which unhealthy machine it replaces.
	RemediationForAnnotation = "controlplane.cluster.x-k8s.io/remediation-for"
)
