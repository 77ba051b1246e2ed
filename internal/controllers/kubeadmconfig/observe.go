package kubeadmconfig

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/kubeadm/config"
	"slipway.dev/slipway/internal/plan"
)

// scene is what one reconcile sees and finds out.
type scene struct {
	now time.Time
	// config is shared with the cache and never changed.
	config *bootstrapv1.KubeadmConfig
	// machine and cluster are nil when they do not exist.
	machine *clusterv1.Machine
	cluster *clusterv1.Cluster
	// data is the Secret of the KubeadmConfig's name; nil when it does not exist.
	data   *corev1.Secret
	paused bool

	// dataName is the name of the Secret once it is known that the data is there.
	dataName string
	// authorities says what was found out about the certificate authorities.
	authorities authorities
}

// authorities is what a reconcile has found out about the cluster's certificate authorities.
type authorities struct {
	// ok says that all that are needed are there and good.
	ok bool
	// broken says that one is there and cannot be used.
	broken bool
	// message says what is wrong.
	message string
}

// observe reads everything once. It returns nil where there is nothing to do: the object is gone or going, or the cache
// does not show yet what was written last, whose event will come.
func (r *Reconciler) observe(ctx context.Context, key types.NamespacedName) (*scene, error) {
	s := &scene{now: r.Now(), config: &bootstrapv1.KubeadmConfig{}}
	if err := r.Client.Get(ctx, key, s.config); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if !s.config.DeletionTimestamp.IsZero() || r.own.Lags(s.config) {
		return nil, nil
	}
	var err error
	if s.machine, err = r.machineOf(ctx, s.config); err != nil {
		return nil, err
	}
	name := s.config.Labels[clusterv1.ClusterNameLabel]
	if s.machine != nil {
		name = s.machine.Spec.ClusterName
	}
	if s.cluster, err = read(ctx, r.Client, types.NamespacedName{Namespace: key.Namespace, Name: name}, &clusterv1.Cluster{}); err != nil {
		return nil, err
	}
	if s.data, err = read(ctx, r.Client, key, &corev1.Secret{}); err != nil {
		return nil, err
	}
	_, annotated := s.config.Annotations[clusterv1.PausedAnnotation]
	s.paused = annotated || s.cluster != nil && isTrue(s.cluster.Spec.Paused)
	return s, nil
}

// read returns the object, or nil when it does not exist.
func read[T client.Object](ctx context.Context, reader client.Reader, key types.NamespacedName, into T) (T, error) {
	var none T
	if key.Name == "" {
		return none, nil
	}
	err := reader.Get(ctx, key, into)
	switch {
	case apierrors.IsNotFound(err):
		return none, nil
	case err != nil:
		return none, fmt.Errorf("read %T %s: %w", into, key, err)
	}
	return into, nil
}

// machineOf returns the Machine that refers to the KubeadmConfig. Its owner reference names it; before there is one, the
// Machine bears the same name unless a user made both.
func (r *Reconciler) machineOf(ctx context.Context, config *bootstrapv1.KubeadmConfig) (*clusterv1.Machine, error) {
	name := config.Name
	for _, ref := range config.OwnerReferences {
		if ref.Kind == machineKind && groupOf(ref) == clusterv1.GroupVersion.Group {
			name = ref.Name
		}
	}
	m, err := read(ctx, r.Client, types.NamespacedName{Namespace: config.Namespace, Name: name}, &clusterv1.Machine{})
	if m == nil || err != nil || refersToConfig(m) != config.Name {
		return nil, err
	}
	return m, nil
}

func groupOf(ref metav1.OwnerReference) string {
	group, _, _ := strings.Cut(ref.APIVersion, "/")
	return group
}

// facts are what the plan looks at.
func (s *scene) facts() plan.BootstrapFacts {
	f := plan.BootstrapFacts{DataExists: plan.TriOf(s.data != nil), OnlyJoins: config.OnlyJoins(&s.config.Spec)}
	if s.machine != nil {
		f.Machine, f.MachineDeleting = s.machine.Name, !s.machine.DeletionTimestamp.IsZero()
		f.ControlPlane, f.Booted = isControlPlane(s.machine), booted(s.machine)
	}
	if s.cluster != nil {
		f.InfrastructureProvisioned = isTrue(s.cluster.Status.Initialization.InfrastructureProvisioned)
		f.ControlPlaneInitialized = isTrue(s.cluster.Status.Initialization.ControlPlaneInitialized)
		f.EndpointKnown = s.cluster.Spec.ControlPlaneEndpoint.Host != ""
	}
	return f
}

func (s *scene) clusterKey() types.NamespacedName { return client.ObjectKeyFromObject(s.cluster) }

// externalEtcd names the files of an etcd that kubeadm does not run. A joining control-plane machine's configuration has
// them too.
func (s *scene) externalEtcd() certs.ExternalEtcd {
	e := s.config.Spec.ClusterConfiguration.Etcd.External
	return certs.ExternalEtcd{CAFile: e.CAFile, CertFile: e.CertFile, KeyFile: e.KeyFile}
}
