package kubeadmconfig

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/blang/semver/v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/kubeadm"
	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/kubeadm/cloudinit"
	"slipway.dev/slipway/internal/kubeadm/config"
	"slipway.dev/slipway/internal/kubeadm/token"
	"slipway.dev/slipway/internal/outcome"
	"slipway.dev/slipway/internal/plan"
)

// initData returns the bootstrap data of the machine that starts the control plane.
func (r *Reconciler) initData(ctx context.Context, s *scene, set certs.Set) ([]byte, error) {
	version, endpoint, err := s.versionAndEndpoint()
	if err != nil {
		return nil, err
	}
	spec := s.spec()
	network := s.cluster.Spec.ClusterNetwork
	documents := config.ForInit(spec, config.Cluster{
		Name: s.cluster.Name, KubernetesVersion: version, Endpoint: endpoint,
		PodCIDRs: network.Pods.CIDRBlocks, ServiceCIDRs: network.Services.CIDRBlocks, DNSDomain: network.ServiceDomain,
	})
	files, err := s.certificateFiles(spec, set)
	if err != nil {
		return nil, err
	}
	return r.write(ctx, s, version, documents, cloudinit.Input{Phase: cloudinit.Init, Certificates: files, Spec: spec})
}

// joinData returns the bootstrap data of a machine that joins, with a new token.
func (r *Reconciler) joinData(ctx context.Context, s *scene) ([]byte, error) {
	version, endpoint, err := s.versionAndEndpoint()
	if err != nil {
		return nil, err
	}
	spec, in := s.spec(), cloudinit.Input{Phase: cloudinit.Join}
	role, ca := config.Worker, []byte(nil)
	if isControlPlane(s.machine) {
		role = config.ControlPlane
		set, err := r.authorities(ctx, s)
		if err != nil {
			return nil, err
		}
		if in.Certificates, err = s.certificateFiles(spec, set); err != nil {
			return nil, err
		}
		ca = set[certs.ClusterCA].Cert
	} else if ca, err = r.clusterCA(ctx, s); err != nil {
		return nil, err
	}
	trust, err := newTrust(spec, endpoint, ca)
	if err != nil {
		return nil, err
	}
	documents, err := config.ForJoin(spec, role, trust)
	if err != nil {
		return nil, invalid(err)
	}
	if err := addDiscoveryFile(spec, endpoint, ca); err != nil {
		return nil, invalid(err)
	}
	in.Spec = spec
	return r.write(ctx, s, version, documents, in)
}

// newTrust returns what a joining machine finds and believes the API server by.
func newTrust(spec *bootstrapv1.KubeadmConfigSpec, endpoint string, ca []byte) (config.Trust, error) {
	hashes, err := certs.Hashes(ca)
	if err != nil {
		return config.Trust{}, invalid(err)
	}
	trust := config.Trust{Endpoint: endpoint, CACertHashes: hashes}
	if config.NeedsToken(spec) {
		t, err := token.New()
		if err != nil {
			return config.Trust{}, err
		}
		trust.Token = t.String()
	}
	return trust, nil
}

// addDiscoveryFile adds the kubeconfig by which a machine finds its cluster, where the KubeadmConfig describes one.
func addDiscoveryFile(spec *bootstrapv1.KubeadmConfigSpec, endpoint string, ca []byte) error {
	f := spec.JoinConfiguration.Discovery.File
	if f.KubeConfigPath == "" {
		return nil
	}
	text, err := config.DiscoveryKubeconfig(f, "https://"+endpoint, ca)
	if err != nil || text == nil {
		return err
	}
	spec.Files = append(spec.Files, bootstrapv1.File{Path: f.KubeConfigPath, Owner: "root:root", Permissions: "0640", Content: string(text)})
	return nil
}

// spec is a copy of what the machine shall be. What is filled in below is never seen in the object itself.
func (s *scene) spec() *bootstrapv1.KubeadmConfigSpec {
	spec := s.config.Spec.DeepCopy()
	port := s.cluster.Spec.ClusterNetwork.APIServerPort
	if port == nil {
		return spec
	}
	if at := &spec.InitConfiguration.LocalAPIEndpoint; at.BindPort == 0 {
		at.BindPort = *port
	}
	if isControlPlane(s.machine) {
		if spec.JoinConfiguration.ControlPlane == nil {
			spec.JoinConfiguration.ControlPlane = &bootstrapv1.JoinControlPlane{}
		}
		if at := &spec.JoinConfiguration.ControlPlane.LocalAPIEndpoint; at.BindPort == 0 {
			at.BindPort = *port
		}
	}
	return spec
}

func (s *scene) versionAndEndpoint() (semver.Version, string, error) {
	text := s.machine.Spec.Version
	if text == "" {
		return semver.Version{}, "", outcome.Stalled(reasonInvalidConfig,
			"Machine %s has no spec.version, and kubeadm's configuration depends on it; set the Kubernetes version where the Machine comes from", s.machine.Name)
	}
	version, err := plan.ParseVersion(text)
	if err != nil {
		return semver.Version{}, "", invalid(err)
	}
	at := s.cluster.Spec.ControlPlaneEndpoint
	endpoint, err := kubeadm.Endpoint(at.Host, at.Port)
	if err != nil {
		return semver.Version{}, "", invalid(err)
	}
	return version, endpoint, nil
}

func (s *scene) certificateFiles(spec *bootstrapv1.KubeadmConfigSpec, set certs.Set) ([]bootstrapv1.File, error) {
	files, err := cloudinit.CertificateFiles(set, spec.ClusterConfiguration.CertificatesDir, s.externalEtcd())
	if err != nil {
		return nil, invalid(err)
	}
	return files, nil
}

// write turns everything into cloud-config.
func (r *Reconciler) write(ctx context.Context, s *scene, version semver.Version, documents config.Documents, in cloudinit.Input) ([]byte, error) {
	speaks, err := config.VersionFor(version)
	if err != nil {
		return nil, invalid(err)
	}
	text, dropped, err := documents.Marshal(speaks)
	if err != nil {
		return nil, invalid(err)
	}
	if len(dropped) > 0 {
		r.Recorder.Eventf(s.config, nil, corev1.EventTypeWarning, "FieldsLeftOut", "MakeBootstrapData",
			"kubeadm of Kubernetes %s does not know %s; they were left out", s.machine.Spec.Version, strings.Join(dropped, ", "))
	}
	in.Kubeadm = text
	if in.Files, err = r.files(ctx, s, in.Spec.Files); err != nil {
		return nil, err
	}
	if in.Users, err = r.users(ctx, s, in.Spec.Users); err != nil {
		return nil, err
	}
	data, err := cloudinit.Write(in)
	if err != nil {
		return nil, invalid(err)
	}
	return data, nil
}

// files returns the files with the content of Secrets put in and templates rendered.
func (r *Reconciler) files(ctx context.Context, s *scene, files []bootstrapv1.File) ([]bootstrapv1.File, error) {
	out := slices.Clone(files)
	var values *cloudinit.Values
	for i := range out {
		f := &out[i]
		if f.ContentFrom != (bootstrapv1.FileSource{}) {
			content, err := r.secretKey(ctx, s, f.ContentFrom.Secret.Name, f.ContentFrom.Secret.Key, "file "+f.Path)
			if err != nil {
				return nil, err
			}
			if f.Encoding != "" && f.Encoding != bootstrapv1.Gzip && !utf8.Valid(content) {
				return nil, &outcome.Stall{
					Reason: reasonInvalidConfig, Recheck: secretRecheck,
					Message: fmt.Sprintf("File %s has the encoding %s, but the key %s of Secret %s holds bytes that are no base64; leave the encoding out, or store the value in it",
						f.Path, f.Encoding, f.ContentFrom.Secret.Key, f.ContentFrom.Secret.Name),
				}
			}
			f.Content, f.ContentFrom = string(content), bootstrapv1.FileSource{}
		}
		if f.ContentFormat != bootstrapv1.FileContentFormatTemplate {
			continue
		}
		if values == nil {
			v, err := r.values(ctx, s)
			if err != nil {
				return nil, err
			}
			values = &v
		}
		rendered, err := cloudinit.Render(*f, *values)
		if err != nil {
			return nil, invalid(err)
		}
		*f = rendered
	}
	return out, nil
}

func (r *Reconciler) users(ctx context.Context, s *scene, users []bootstrapv1.User) ([]bootstrapv1.User, error) {
	out := slices.Clone(users)
	for i := range out {
		u := &out[i]
		if u.PasswdFrom == (bootstrapv1.PasswdSource{}) {
			continue
		}
		hash, err := r.secretKey(ctx, s, u.PasswdFrom.Secret.Name, u.PasswdFrom.Secret.Key, "the password of user "+u.Name)
		if err != nil {
			return nil, err
		}
		if !utf8.Valid(hash) {
			return nil, &outcome.Stall{
				Reason: reasonInvalidConfig, Recheck: secretRecheck,
				Message: fmt.Sprintf("The key %s of Secret %s, which holds the password of user %s, is not valid UTF-8; store the hash as text, as mkpasswd or openssl passwd -6 print it",
					u.PasswdFrom.Secret.Key, u.PasswdFrom.Secret.Name, u.Name),
			}
		}
		u.Passwd, u.PasswdFrom = string(hash), bootstrapv1.PasswdSource{}
	}
	return out, nil
}

// secretKey reads a value of a user's Secret, past the cache, which holds only those that carry a cluster's label.
func (r *Reconciler) secretKey(ctx context.Context, s *scene, name, key, what string) ([]byte, error) {
	secret, err := read(ctx, r.APIReader, types.NamespacedName{Namespace: s.config.Namespace, Name: name}, &corev1.Secret{})
	if err != nil {
		return nil, err
	}
	problem := "does not exist"
	if secret != nil {
		value, ok := secret.Data[key]
		if ok && len(value) > 0 {
			return value, nil
		}
		problem = fmt.Sprintf("has no value under the key %s", key)
	}
	return nil, &outcome.Stall{
		Reason: reasonSecretMissing, Recheck: secretRecheck,
		Message: fmt.Sprintf("Secret %s, which holds %s, %s; create it in namespace %s", name, what, problem, s.config.Namespace),
	}
}

// values are what templates may refer to. A worker follows its control plane's version, a control-plane machine its own.
func (r *Reconciler) values(ctx context.Context, s *scene) (cloudinit.Values, error) {
	v := cloudinit.Values{ControlPlaneVersion: s.machine.Spec.Version}
	ref := s.cluster.Spec.ControlPlaneRef
	if isControlPlane(s.machine) || !ref.IsDefined() {
		return v, nil
	}
	object, err := r.resolver.Get(ctx, ref, s.cluster.Namespace)
	if err != nil {
		return v, fmt.Errorf("read the version of the control plane: %w", err)
	}
	view, err := object.ControlPlane()
	if err != nil {
		return v, err
	}
	v.ControlPlaneVersion = cmp.Or(view.ObservedVersion, view.Version, v.ControlPlaneVersion)
	return v, nil
}

func invalid(err error) error {
	return &outcome.Stall{Reason: reasonInvalidConfig, Message: "The bootstrap data cannot be made: " + err.Error()}
}
