package config

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
)

// The functions of this file turn parts of a KubeadmConfig into kubeadm's own form, one for one.

func clusterConfiguration(c bootstrapv1.ClusterConfiguration) *ClusterConfiguration {
	return &ClusterConfiguration{
		ControlPlaneEndpoint: c.ControlPlaneEndpoint,
		APIServer: APIServer{
			ControlPlaneComponent: component(c.APIServer.ExtraArgs, c.APIServer.ExtraVolumes, c.APIServer.ExtraEnvs),
			CertSANs:              c.APIServer.CertSANs,
		},
		ControllerManager:           component(c.ControllerManager.ExtraArgs, c.ControllerManager.ExtraVolumes, c.ControllerManager.ExtraEnvs),
		Scheduler:                   component(c.Scheduler.ExtraArgs, c.Scheduler.ExtraVolumes, c.Scheduler.ExtraEnvs),
		Etcd:                        etcd(c.Etcd),
		DNS:                         DNS{ImageMeta: ImageMeta{ImageRepository: c.DNS.ImageRepository, ImageTag: c.DNS.ImageTag}},
		CertificatesDir:             c.CertificatesDir,
		ImageRepository:             c.ImageRepository,
		FeatureGates:                c.FeatureGates,
		EncryptionAlgorithm:         string(c.EncryptionAlgorithm),
		CertificateValidityPeriod:   days(c.CertificateValidityPeriodDays),
		CACertificateValidityPeriod: days(c.CACertificateValidityPeriodDays),
	}
}

func component(args []bootstrapv1.Arg, volumes []bootstrapv1.HostPathMount, envs []bootstrapv1.EnvVar) ControlPlaneComponent {
	return ControlPlaneComponent{ExtraArgs: arguments(args), ExtraVolumes: mounts(volumes), ExtraEnvs: environment(envs)}
}

func arguments(in []bootstrapv1.Arg) []Arg {
	var out []Arg
	for _, a := range in {
		out = append(out, Arg{Name: a.Name, Value: value(a.Value)})
	}
	return out
}

func mounts(in []bootstrapv1.HostPathMount) []HostPathMount {
	var out []HostPathMount
	for _, m := range in {
		out = append(out, HostPathMount{
			Name: m.Name, HostPath: m.HostPath, MountPath: m.MountPath, ReadOnly: value(m.ReadOnly), PathType: m.PathType,
		})
	}
	return out
}

func environment(in []bootstrapv1.EnvVar) []corev1.EnvVar {
	var out []corev1.EnvVar
	for _, e := range in {
		out = append(out, *e.EnvVar.DeepCopy())
	}
	return out
}

func etcd(in bootstrapv1.Etcd) Etcd {
	var out Etcd
	if l := in.Local; !zeroLocal(l) {
		out.Local = &LocalEtcd{
			ImageMeta: ImageMeta{ImageRepository: l.ImageRepository, ImageTag: l.ImageTag},
			DataDir:   l.DataDir, ExtraArgs: arguments(l.ExtraArgs), ExtraEnvs: environment(l.ExtraEnvs),
			ServerCertSANs: l.ServerCertSANs, PeerCertSANs: l.PeerCertSANs,
		}
	}
	if e := in.External; len(e.Endpoints) > 0 {
		out.External = &ExternalEtcd{Endpoints: e.Endpoints, CAFile: e.CAFile, CertFile: e.CertFile, KeyFile: e.KeyFile}
	}
	return out
}

func zeroLocal(l bootstrapv1.LocalEtcd) bool {
	return l.ImageRepository == "" && l.ImageTag == "" && l.DataDir == "" &&
		len(l.ExtraArgs)+len(l.ExtraEnvs)+len(l.ServerCertSANs)+len(l.PeerCertSANs) == 0
}

func registration(n bootstrapv1.NodeRegistrationOptions) NodeRegistrationOptions {
	return NodeRegistrationOptions{
		Name: n.Name, CRISocket: n.CRISocket, Taints: copyTaints(n.Taints), KubeletExtraArgs: arguments(n.KubeletExtraArgs),
		IgnorePreflightErrors: n.IgnorePreflightErrors, ImagePullPolicy: n.ImagePullPolicy, ImagePullSerial: n.ImagePullSerial,
	}
}

// copyTaints keeps nil (kubeadm's default) and an empty list (no taints) apart.
func copyTaints(in *[]corev1.Taint) *[]corev1.Taint {
	if in == nil {
		return nil
	}
	out := append(make([]corev1.Taint, 0, len(*in)), *in...)
	return &out
}

func bootstrapTokens(in []bootstrapv1.BootstrapToken) []BootstrapToken {
	var out []BootstrapToken
	for _, t := range in {
		token := BootstrapToken{
			Token: t.Token, Description: t.Description, TTL: seconds(t.TTLSeconds), Usages: t.Usages, Groups: t.Groups,
		}
		if !t.Expires.IsZero() {
			token.Expires = t.Expires.DeepCopy()
		}
		out = append(out, token)
	}
	return out
}

func endpoint(e bootstrapv1.APIEndpoint) APIEndpoint {
	return APIEndpoint{AdvertiseAddress: e.AdvertiseAddress, BindPort: e.BindPort}
}

func patches(p bootstrapv1.Patches) *Patches {
	if p.Directory == "" {
		return nil
	}
	return &Patches{Directory: p.Directory}
}

func timeouts(t bootstrapv1.Timeouts) *Timeouts {
	out := Timeouts{
		ControlPlaneComponentHealthCheck: seconds(t.ControlPlaneComponentHealthCheckSeconds),
		KubeletHealthCheck:               seconds(t.KubeletHealthCheckSeconds),
		KubernetesAPICall:                seconds(t.KubernetesAPICallSeconds),
		EtcdAPICall:                      seconds(t.EtcdAPICallSeconds),
		TLSBootstrap:                     seconds(t.TLSBootstrapSeconds),
		Discovery:                        seconds(t.DiscoverySeconds),
	}
	if out == (Timeouts{}) {
		return nil
	}
	return &out
}

func seconds(s *int32) *metav1.Duration {
	if s == nil {
		return nil
	}
	return &metav1.Duration{Duration: time.Duration(*s) * time.Second}
}

func days(d int32) *metav1.Duration {
	if d == 0 {
		return nil
	}
	return &metav1.Duration{Duration: time.Duration(d) * 24 * time.Hour}
}

func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
