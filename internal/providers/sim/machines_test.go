package sim_test

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/blang/semver/v4"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/kubeadm/cloudinit"
	"slipway.dev/slipway/internal/kubeadm/config"
	"slipway.dev/slipway/internal/kubeadm/token"
)

// machine makes a Machine with bootstrap data, if there is any, and its SimMachine.
func (r *rig) machine(name string, data []byte, change ...func(*infrav1.SimMachine)) *clusterv1.Machine {
	r.Helper()
	m := &clusterv1.Machine{ObjectMeta: r.meta(name), Spec: clusterv1.MachineSpec{
		ClusterName: clusterName, Version: version,
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: group, Kind: "SimMachine", Name: name},
		Bootstrap: clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: bootstrapv1.GroupVersion.Group, Kind: "KubeadmConfig", Name: name,
		}},
	}}
	if data != nil {
		r.secret(name, data)
		m.Spec.Bootstrap.DataSecretName = new(name)
	}
	r.must(r.Create(r.Context(), m))
	sim := &infrav1.SimMachine{ObjectMeta: r.meta(name), Spec: infrav1.SimMachineSpec{BootDelay: &metav1.Duration{}}}
	sim.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: name, UID: m.UID}}
	for _, f := range change {
		f(sim)
	}
	r.must(r.Create(r.Context(), sim))
	return m
}

func (r *rig) secret(name string, data []byte) {
	r.Helper()
	r.must(r.Create(r.Context(), &corev1.Secret{ObjectMeta: r.meta(name), Data: map[string][]byte{"value": data}}))
}

// controlPlane makes the first control-plane machine, which runs kubeadm init.
func (r *rig) controlPlane(name string, change ...func(*infrav1.SimMachine)) *clusterv1.Machine {
	r.Helper()
	return r.machine(name, r.initData(), change...)
}

// worker makes a machine that joins. The cluster is there.
func (r *rig) worker(name string, change ...func(*infrav1.SimMachine)) *clusterv1.Machine {
	r.Helper()
	return r.machine(name, r.joinData(config.Worker), change...)
}

// with gives a SimMachine a fault.
func with(f infrav1.SimMachineFaultType, lasts ...time.Duration) func(*infrav1.SimMachine) {
	return func(s *infrav1.SimMachine) {
		fault := infrav1.SimMachineFault{Type: f}
		for _, d := range lasts {
			fault.Duration = &metav1.Duration{Duration: d}
		}
		s.Spec.Faults = append(s.Spec.Faults, fault)
	}
}

// without takes all faults from a SimMachine.
func (r *rig) without(sim *infrav1.SimMachine) {
	r.Helper()
	r.change(sim, func() { sim.Spec.Faults = nil })
}

// within puts a SimMachine into a zone.
func within(zone string) func(*infrav1.SimMachine) {
	return func(s *infrav1.SimMachine) { s.Spec.FailureDomain = zone }
}

// bootstrapped waits until the machines have become Nodes.
func (r *rig) bootstrapped(names ...string) {
	r.Helper()
	for _, name := range names {
		r.until(name, isTrue(infrav1.BootstrappedCondition))
	}
}

func isTrue(condition string) func(*infrav1.SimMachine) error {
	return func(s *infrav1.SimMachine) error {
		if !conditions.IsTrue(s.Status.Conditions, condition) {
			return fmt.Errorf("SimMachine %s: %s is %+v", s.Name, condition, conditions.Find(s.Status.Conditions, condition))
		}
		return nil
	}
}

func isFalse(condition, reason string) func(*infrav1.SimMachine) error {
	return func(s *infrav1.SimMachine) error {
		c := conditions.Find(s.Status.Conditions, condition)
		if c == nil || c.Status != metav1.ConditionFalse || c.Reason != reason {
			return fmt.Errorf("SimMachine %s: %s is %+v, want False for %s", s.Name, condition, c, reason)
		}
		return nil
	}
}

func (r *rig) address() string {
	r.Helper()
	e := r.sim.Spec.ControlPlaneEndpoint
	if e.Port == 0 {
		r.placed()
		e = r.sim.Spec.ControlPlaneEndpoint
	}
	return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
}

func (r *rig) initData() []byte {
	r.Helper()
	spec := bootstrapv1.KubeadmConfigSpec{}
	docs := config.ForInit(&spec, config.Cluster{Name: clusterName, KubernetesVersion: semver.MustParse(version[1:]), Endpoint: r.address()})
	return r.write(cloudinit.Init, docs, r.caFiles(), spec)
}

// joinData is bootstrap data with a new token. The cluster is there.
func (r *rig) joinData(role config.Role) []byte {
	r.Helper()
	hashes, err := certs.Hashes(r.cas[certs.ClusterCA].Cert)
	r.must(err)
	tok, err := token.New()
	r.must(err)
	r.must(r.admin().Create(r.Context(), token.NewSecret(tok, "test", r.now().Add(time.Hour))))
	spec := bootstrapv1.KubeadmConfigSpec{}
	docs, err := config.ForJoin(&spec, role, config.Trust{Endpoint: r.address(), Token: tok.String(), CACertHashes: hashes})
	r.must(err)
	var files []bootstrapv1.File
	if role == config.ControlPlane {
		files = r.caFiles()
	}
	return r.write(cloudinit.Join, docs, files, spec)
}

func (r *rig) caFiles() []bootstrapv1.File {
	r.Helper()
	files, err := cloudinit.CertificateFiles(r.cas, "", certs.ExternalEtcd{})
	r.must(err)
	return files
}

func (r *rig) write(phase cloudinit.Phase, docs config.Documents, files []bootstrapv1.File, spec bootstrapv1.KubeadmConfigSpec) []byte {
	r.Helper()
	text, _, err := docs.Marshal(config.V1Beta4)
	r.must(err)
	data, err := cloudinit.Write(cloudinit.Input{Phase: phase, Kubeadm: text, Certificates: files, Spec: &spec})
	r.must(err)
	return data
}
