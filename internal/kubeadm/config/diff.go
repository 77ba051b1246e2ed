package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/kubeadm/certs"
)

// Diff returns the names of the fields, sorted, in which a machine's KubeadmConfig no longer is what its control plane
// asks for; empty means that the machine need not be replaced.
//
// Only what would make another machine counts. Not compared are what a control plane changes without new machines
// (controlPlaneEndpoint, dns, the wait for control plane components), what the bootstrap controller fills in
// (discovery), the order of arguments, and how a default is spelt: a field that is unset and the same field holding
// its default are equal, and so are unset and empty, except for taints, where an empty list means "no taints".
//
// A machine that was made by kubeadm init is compared with the wanted initConfiguration, one that joined with the
// wanted joinConfiguration, since only that half took part in making it.
func Diff(want, current *bootstrapv1.KubeadmConfigSpec) []string {
	w, c := normalised(want), normalised(current)
	var out []string
	check := func(name string, a, b any) {
		if !equality.Semantic.DeepEqual(a, b) {
			out = append(out, name)
		}
	}
	diffCluster(check, w.ClusterConfiguration, c.ClusterConfiguration)
	if joined(current) {
		diffJoin(check, w.JoinConfiguration, c.JoinConfiguration)
	} else {
		diffInit(check, w.InitConfiguration, c.InitConfiguration)
	}
	check("files", w.Files, c.Files)
	check("diskSetup", w.DiskSetup, c.DiskSetup)
	check("mounts", w.Mounts, c.Mounts)
	check("bootCommands", w.BootCommands, c.BootCommands)
	check("preKubeadmCommands", w.PreKubeadmCommands, c.PreKubeadmCommands)
	check("postKubeadmCommands", w.PostKubeadmCommands, c.PostKubeadmCommands)
	check("users", w.Users, c.Users)
	check("ntp", w.NTP, c.NTP)
	check("format", w.Format, c.Format)
	check("verbosity", w.Verbosity, c.Verbosity)
	check("ignition", w.Ignition, c.Ignition)
	slices.Sort(out)
	return out
}

// joined tells whether a KubeadmConfig is a joining machine's: a control plane always sets the joinConfiguration of
// those, be it to {controlPlane: {}}.
func joined(spec *bootstrapv1.KubeadmConfigSpec) bool {
	return !equality.Semantic.DeepEqual(spec.JoinConfiguration, bootstrapv1.JoinConfiguration{})
}

type checker func(name string, a, b any)

func diffCluster(check checker, a, b bootstrapv1.ClusterConfiguration) {
	check("clusterConfiguration.apiServer", a.APIServer, b.APIServer)
	check("clusterConfiguration.controllerManager", a.ControllerManager, b.ControllerManager)
	check("clusterConfiguration.scheduler", a.Scheduler, b.Scheduler)
	check("clusterConfiguration.etcd", a.Etcd, b.Etcd)
	check("clusterConfiguration.certificatesDir", a.CertificatesDir, b.CertificatesDir)
	check("clusterConfiguration.imageRepository", a.ImageRepository, b.ImageRepository)
	check("clusterConfiguration.featureGates", a.FeatureGates, b.FeatureGates)
	check("clusterConfiguration.certificateValidityPeriodDays", a.CertificateValidityPeriodDays, b.CertificateValidityPeriodDays)
	check("clusterConfiguration.caCertificateValidityPeriodDays", a.CACertificateValidityPeriodDays, b.CACertificateValidityPeriodDays)
	check("clusterConfiguration.encryptionAlgorithm", a.EncryptionAlgorithm, b.EncryptionAlgorithm)
}

func diffInit(check checker, a, b bootstrapv1.InitConfiguration) {
	check("initConfiguration.bootstrapTokens", a.BootstrapTokens, b.BootstrapTokens)
	check("initConfiguration.nodeRegistration", a.NodeRegistration, b.NodeRegistration)
	check("initConfiguration.localAPIEndpoint", a.LocalAPIEndpoint, b.LocalAPIEndpoint)
	check("initConfiguration.skipPhases", a.SkipPhases, b.SkipPhases)
	check("initConfiguration.patches", a.Patches, b.Patches)
	check("initConfiguration.timeouts", a.Timeouts, b.Timeouts)
}

func diffJoin(check checker, a, b bootstrapv1.JoinConfiguration) {
	check("joinConfiguration.nodeRegistration", a.NodeRegistration, b.NodeRegistration)
	check("joinConfiguration.caCertPath", a.CACertPath, b.CACertPath)
	check("joinConfiguration.controlPlane", a.ControlPlane, b.ControlPlane)
	check("joinConfiguration.skipPhases", a.SkipPhases, b.SkipPhases)
	check("joinConfiguration.patches", a.Patches, b.Patches)
	check("joinConfiguration.timeouts", a.Timeouts, b.Timeouts)
}

// normalised returns a copy with every default spelt out and every order that does not matter made one.
func normalised(spec *bootstrapv1.KubeadmConfigSpec) *bootstrapv1.KubeadmConfigSpec {
	s := spec.DeepCopy()
	s.Format = cmp.Or(s.Format, bootstrapv1.CloudConfig)
	cluster := &s.ClusterConfiguration
	cluster.CertificatesDir = cmp.Or(cluster.CertificatesDir, certs.DefaultDir)
	for _, args := range [][]bootstrapv1.Arg{
		cluster.APIServer.ExtraArgs, cluster.ControllerManager.ExtraArgs, cluster.Scheduler.ExtraArgs, cluster.Etcd.Local.ExtraArgs,
		s.InitConfiguration.NodeRegistration.KubeletExtraArgs, s.JoinConfiguration.NodeRegistration.KubeletExtraArgs,
	} {
		slices.SortStableFunc(args, func(a, b bootstrapv1.Arg) int { return cmp.Compare(a.Name, b.Name) })
	}
	for _, n := range []*bootstrapv1.NodeRegistrationOptions{&s.InitConfiguration.NodeRegistration, &s.JoinConfiguration.NodeRegistration} {
		n.ImagePullPolicy = cmp.Or(n.ImagePullPolicy, corev1.PullIfNotPresent)
	}
	s.InitConfiguration.Timeouts.ControlPlaneComponentHealthCheckSeconds = nil
	s.JoinConfiguration.Timeouts.ControlPlaneComponentHealthCheckSeconds = nil
	if s.JoinConfiguration.ControlPlane == nil {
		// Machines of a control plane are; the field is set by whoever makes them.
		s.JoinConfiguration.ControlPlane = &bootstrapv1.JoinControlPlane{}
	}
	normaliseHost(s)
	return s
}

// normaliseHost does for the machine's own set-up what normalised does for kubeadm's.
func normaliseHost(s *bootstrapv1.KubeadmConfigSpec) {
	cluster := &s.ClusterConfiguration
	for _, volumes := range [][]bootstrapv1.HostPathMount{cluster.APIServer.ExtraVolumes, cluster.ControllerManager.ExtraVolumes, cluster.Scheduler.ExtraVolumes} {
		for i := range volumes {
			falseIsUnset(&volumes[i].ReadOnly)
		}
	}
	for i := range s.Files {
		f := &s.Files[i]
		f.ContentFormat = cmp.Or(f.ContentFormat, bootstrapv1.FileContentFormatRaw)
		falseIsUnset(&f.Append)
	}
	for i := range s.Users {
		falseIsUnset(&s.Users[i].Inactive)
	}
	for i := range s.DiskSetup.Partitions {
		falseIsUnset(&s.DiskSetup.Partitions[i].Overwrite)
	}
	for i := range s.DiskSetup.Filesystems {
		falseIsUnset(&s.DiskSetup.Filesystems[i].Overwrite)
	}
}

func falseIsUnset(b **bool) {
	if *b != nil && !**b {
		*b = nil
	}
}

// Fingerprint returns a short hash of what Diff compares of the spec that a control plane asks for, in the form of
// machines that join or of the one that initializes. Recorded with a machine's KubeadmConfig it tells later that the
// control plane still asks for the same, whatever others have changed in that KubeadmConfig since or at its admission.
func Fingerprint(want *bootstrapv1.KubeadmConfigSpec, joining bool) (string, error) {
	s := normalised(want)
	s.ClusterConfiguration.ControlPlaneEndpoint = ""
	s.ClusterConfiguration.DNS = bootstrapv1.DNS{}
	s.JoinConfiguration.Discovery = bootstrapv1.Discovery{}
	if joining {
		s.InitConfiguration = bootstrapv1.InitConfiguration{}
	} else {
		s.JoinConfiguration = bootstrapv1.JoinConfiguration{}
	}
	text, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("encode KubeadmConfig: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

// Joins tells whether a KubeadmConfig is that of a machine that joins, not of one that initializes a control plane.
func Joins(spec *bootstrapv1.KubeadmConfigSpec) bool { return joined(spec) }

// OnlyJoins tells whether a KubeadmConfig says how to join a cluster and nothing of how to start one.
func OnlyJoins(spec *bootstrapv1.KubeadmConfigSpec) bool {
	return joined(spec) && equality.Semantic.DeepEqual(spec.InitConfiguration, bootstrapv1.InitConfiguration{}) &&
		equality.Semantic.DeepEqual(spec.ClusterConfiguration, bootstrapv1.ClusterConfiguration{})
}
