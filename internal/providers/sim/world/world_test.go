package world

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/kubeadm/cloudinit"
	"slipway.dev/slipway/internal/kubeadm/config"
	"slipway.dev/slipway/internal/kubeadm/kubeconfig"
	"slipway.dev/slipway/internal/kubeadm/token"
	"slipway.dev/slipway/internal/providers/sim/workload"
)

// fleet is a cluster's side of the management plane, as far as a test needs it: its CAs and the bootstrap data of machines.
type fleet struct {
	t     *testing.T
	world *World
	place Place
	cas   certs.Set
}

func newFleet(t *testing.T, dir string) *fleet {
	t.Helper()
	cas, err := certs.GenerateMissing(nil, certs.ExternalEtcd{}, certs.Options{Algorithm: certs.ECDSAP256, Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{t: t, cas: cas, place: Place{Key: types.NamespacedName{Namespace: "default", Name: "c"}, ID: "u1", Host: "127.0.0.1", Port: freePort(t)}}
	f.open(dir)
	return f
}

func freePort(t *testing.T) int32 {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := ln.Addr().(*net.TCPAddr).Port
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	return int32(port)
}

// open starts a world on a directory, which ends with the test or with a call of Close.
func (f *fleet) open(dir string) {
	f.t.Helper()
	w, err := New(Options{Dir: dir})
	if err != nil {
		f.t.Fatal(err)
	}
	f.world = w
	f.t.Cleanup(func() {
		if err := w.Close(); err != nil {
			f.t.Error(err)
		}
	})
}

func (f *fleet) cluster() *Cluster {
	f.t.Helper()
	c, err := f.world.Cluster(f.place)
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

func machineNamed(name string) Machine {
	return Machine{
		Name: name, ProviderID: "sim://default/c/" + name, Version: semver.MustParse("1.37.0"),
		CPU: resource.MustParse("4"), Memory: resource.MustParse("8Gi"),
	}
}

func (f *fleet) initData(spec bootstrapv1.KubeadmConfigSpec) []byte {
	f.t.Helper()
	docs := config.ForInit(&spec, config.Cluster{Name: "c", KubernetesVersion: semver.MustParse("1.37.0"), Endpoint: f.cluster().place.address()})
	return f.write(cloudinit.Init, docs, f.caFiles(), spec)
}

func (f *fleet) joinData(role config.Role, tok string) []byte {
	f.t.Helper()
	hashes, err := certs.Hashes(f.cas[certs.ClusterCA].Cert)
	if err != nil {
		f.t.Fatal(err)
	}
	spec := bootstrapv1.KubeadmConfigSpec{}
	docs, err := config.ForJoin(&spec, role, config.Trust{Endpoint: f.cluster().place.address(), Token: tok, CACertHashes: hashes})
	if err != nil {
		f.t.Fatal(err)
	}
	var files []bootstrapv1.File
	if role == config.ControlPlane {
		files = f.caFiles()
	}
	return f.write(cloudinit.Join, docs, files, spec)
}

func (f *fleet) caFiles() []bootstrapv1.File {
	f.t.Helper()
	files, err := cloudinit.CertificateFiles(f.cas, "", certs.ExternalEtcd{})
	if err != nil {
		f.t.Fatal(err)
	}
	return files
}

func (f *fleet) write(phase cloudinit.Phase, docs config.Documents, files []bootstrapv1.File, spec bootstrapv1.KubeadmConfigSpec) []byte {
	f.t.Helper()
	text, _, err := docs.Marshal(config.V1Beta4)
	if err != nil {
		f.t.Fatal(err)
	}
	data, err := cloudinit.Write(cloudinit.Input{Phase: phase, Kubeadm: text, Certificates: files, Spec: &spec})
	if err != nil {
		f.t.Fatal(err)
	}
	return data
}

// newToken puts a token into the cluster, as the bootstrap provider does.
func (f *fleet) newToken(ttl time.Duration) string {
	f.t.Helper()
	tok, err := token.New()
	if err != nil {
		f.t.Fatal(err)
	}
	if _, err := f.cluster().api.Store().Put(token.NewSecret(tok, "test", time.Now().Add(ttl))); err != nil {
		f.t.Fatal(err)
	}
	return tok.String()
}

func (f *fleet) boot(name string, data []byte) {
	f.t.Helper()
	if _, err := f.cluster().Boot(machineNamed(name), data, false); err != nil {
		f.t.Fatalf("boot %s: %v", name, err)
	}
}

// admin is a client with the cluster's own kubeconfig.
func (f *fleet) admin() *kubernetes.Clientset {
	f.t.Helper()
	ca, err := certs.NewAuthority(f.cas[certs.ClusterCA])
	if err != nil {
		f.t.Fatal(err)
	}
	raw, err := kubeconfig.New(ca, kubeconfig.Admin("c", "https://"+f.cluster().place.address(), time.Now()))
	if err != nil {
		f.t.Fatal(err)
	}
	cfg, err := clientcmd.RESTConfigFromKubeConfig(raw)
	if err != nil {
		f.t.Fatal(err)
	}
	return kubernetes.NewForConfigOrDie(cfg)
}

// grown is a cluster of three control-plane machines and one worker.
func grown(t *testing.T, dir string) *fleet {
	t.Helper()
	f := newFleet(t, dir)
	f.boot("cp0", f.initData(bootstrapv1.KubeadmConfigSpec{}))
	for _, name := range []string{"cp1", "cp2"} {
		f.boot(name, f.joinData(config.ControlPlane, f.newToken(time.Hour)))
	}
	f.boot("w0", f.joinData(config.Worker, f.newToken(time.Hour)))
	return f
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			t.Fatalf("not so after 20 s: %s", what)
		case <-tick.C:
		}
	}
}

func TestBoot_MakesAClusterThatKubectlSees(t *testing.T) {
	t.Parallel()
	f := grown(t, t.TempDir())
	admin := f.admin()
	nodes, err := admin.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(nodes.Items) != 4 {
		t.Fatalf("%d Nodes, want 4", len(nodes.Items))
	}
	if got := len(f.cluster().members.State().Members); got != 3 {
		t.Errorf("%d etcd members, want 3", got)
	}
	v, err := admin.Discovery().ServerVersion()
	if err != nil || v.GitVersion != "v1.37.0" {
		t.Errorf("version %v, %v", v, err)
	}
	eventually(t, "kube-proxy on each Node", func() bool {
		ds, err := admin.AppsV1().DaemonSets("kube-system").Get(t.Context(), "kube-proxy", metav1.GetOptions{})
		return err == nil && ds.Status.NumberReady == 4
	})
	eventually(t, "CoreDNS", func() bool {
		d, err := admin.AppsV1().Deployments("kube-system").Get(t.Context(), "coredns", metav1.GetOptions{})
		return err == nil && d.Status.ReadyReplicas == 2
	})
}

func TestBoot_TwiceIsOnce(t *testing.T) {
	t.Parallel()
	f := grown(t, t.TempDir())
	before := f.cluster().api.Store().ResourceVersion()
	eventually(t, "settled", func() bool {
		now := f.cluster().api.Store().ResourceVersion()
		same := now == before
		before = now
		return same && workload.Has[*appsv1.DaemonSet](f.cluster().api.Store(), types.NamespacedName{Namespace: "kube-system", Name: "kube-proxy"})
	})
	f.boot("w0", []byte("whatever"))
	if got := len(f.cluster().members.State().Members); got != 3 {
		t.Errorf("%d etcd members, want 3", got)
	}
}

func TestBoot_RefusesWhatARealMachineWould(t *testing.T) {
	t.Parallel()
	f := newFleet(t, t.TempDir())
	if _, err := f.cluster().Boot(machineNamed("w9"), f.joinData(config.Worker, "abcdef.0123456789abcdef"), false); !errors.Is(err, ErrUnreachable) {
		t.Errorf("a worker before the control plane: %v, want ErrUnreachable", err)
	}
	f.boot("cp0", f.initData(bootstrapv1.KubeadmConfigSpec{}))
	other := newFleet(t, t.TempDir())
	other.place = f.place
	for _, row := range []struct {
		name, want string
		data       []byte
	}{
		{"no cloud-config", "cloud-init", []byte("hello")},
		{"a key that cloud-init does not know", "wrote_files", []byte("#cloud-config\nwrote_files: []\n")},
		{"no kubeadm", "kubeadm", []byte("#cloud-config\nruncmd: [\"true\"]\n")},
		{"an unknown token", "invalid for this cluster", f.joinData(config.Worker, "abcdef.0123456789abcdef")},
		{"an expired token", "expired", f.joinData(config.Worker, f.newToken(-time.Minute))},
		{"another cluster's CA", "kubeadm join", func() []byte {
			tok := f.newToken(time.Hour)
			f.cas, other.cas = other.cas, f.cas
			defer func() { f.cas, other.cas = other.cas, f.cas }()
			return f.joinData(config.Worker, tok)
		}()},
		{"a second init", "belongs to a cluster already", f.initData(bootstrapv1.KubeadmConfigSpec{})},
	} {
		_, err := f.cluster().Boot(machineNamed("bad"), row.data, false)
		if _, ok := errors.AsType[*BootstrapError](err); !ok || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want a BootstrapError with %q", row.name, err, row.want)
		}
	}
}

func TestWorld_ARestartChangesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := grown(t, dir)
	if err := f.world.Close(); err != nil {
		t.Fatal(err)
	}
	f.open(dir)
	if !f.cluster().Initialized() {
		t.Fatal("the cluster was not loaded")
	}
	nodes, err := f.admin().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 4 {
		t.Fatalf("%d Nodes, %v; want 4", len(nodes.Items), err)
	}
	if _, ok := f.cluster().Machine("w0"); !ok {
		t.Error("machine w0 is not known any more")
	}
	if got := len(f.cluster().members.State().Members); got != 3 {
		t.Errorf("%d etcd members, want 3", got)
	}
}

func TestFaults_ShowAndEnd(t *testing.T) {
	t.Parallel()
	f := grown(t, t.TempDir())
	status := func(name string) corev1.ConditionStatus {
		n, err := workload.Read[*corev1.Node](f.cluster().api.Store(), types.NamespacedName{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return readyStatus(n)
	}
	etcdPod := func(node string) corev1.ContainerStatus {
		pod, err := workload.Read[*corev1.Pod](f.cluster().api.Store(), types.NamespacedName{Namespace: "kube-system", Name: "etcd-" + node})
		if err != nil || len(pod.Status.ContainerStatuses) != 1 {
			t.Fatalf("the etcd Pod of %s is %+v, %v", node, pod, err)
		}
		return pod.Status.ContainerStatuses[0]
	}
	if err := f.cluster().AilMachine("w0", "", MachineAilments{Lost: true}); err != nil {
		t.Fatal(err)
	}
	if got := status("w0"); got != corev1.ConditionUnknown {
		t.Errorf("lost Node is %s, want Unknown", got)
	}
	if err := f.cluster().AilMachine("w0", "", MachineAilments{}); err != nil {
		t.Fatal(err)
	}
	if got := status("w0"); got != corev1.ConditionTrue {
		t.Errorf("found Node is %s, want True", got)
	}
	if err := f.cluster().AilMachine("cp1", "", MachineAilments{EtcdDead: true}); err != nil {
		t.Fatal(err)
	}
	if m, _ := f.cluster().members.Member("cp1"); !m.Down {
		t.Error("the etcd member of cp1 runs, want it down")
	}
	eventually(t, "an etcd container of cp1 that crashes", func() bool {
		got := etcdPod("cp1")
		return !got.Ready && got.State.Waiting != nil && got.State.Waiting.Reason == "CrashLoopBackOff" && got.RestartCount > 0
	})
	if got := etcdPod("cp0"); !got.Ready {
		t.Errorf("the etcd container of cp0 is %+v, want it ready", got)
	}
	if err := f.cluster().AilMachine("cp1", "", MachineAilments{}); err != nil {
		t.Fatal(err)
	}
	if m, _ := f.cluster().members.Member("cp1"); m.Down {
		t.Error("the etcd member of cp1 is down, want it running")
	}
	eventually(t, "an etcd container of cp1 that runs again", func() bool {
		got := etcdPod("cp1")
		return got.Ready && got.State.Running != nil
	})
	if err := f.cluster().Ail(Ailments{Unreachable: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.admin().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("the endpoint answers, want it unreachable")
	}
	if err := f.cluster().Ail(Ailments{}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.admin().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("the endpoint does not answer: %v", err)
	}
}

func TestRemove_LeavesNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := grown(t, dir)
	for _, name := range []string{"w0", "cp2", "cp1", "cp0"} {
		if err := f.cluster().Delete(name, ""); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := f.world.Remove(f.place.Key, f.place.ID); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left in the directory: %v, %v", left, err)
	}
	if _, err := f.world.Cluster(f.place); !errors.Is(err, errRemoved) {
		t.Errorf("it comes back for who has its SimCluster still in hand: %v", err)
	}
}

func TestMachines_OfOneNameAreToldApart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := grown(t, dir)
	again := func() {
		t.Helper()
		if err := f.world.Close(); err != nil {
			t.Fatal(err)
		}
		f.open(dir)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	again()
	must(f.cluster().Delete("w0", "")) // Nor does a file from before UIDs were kept.
	m := machineNamed("w0")
	m.UID = "first"
	_, err := f.cluster().Boot(m, f.joinData(config.Worker, f.newToken(time.Hour)), false)
	must(err)
	must(f.cluster().AilMachine("cp0", "adopted", MachineAilments{}))
	again()
	for name, uid := range map[string]types.UID{"w0": "first", "cp0": "adopted", "cp1": ""} {
		if got, ok := f.cluster().Machine(name); !ok || got.UID != uid {
			t.Errorf("machine %s is %+v, want the UID %q", name, got, uid)
		}
	}
	m.UID = "second"
	if _, err := f.cluster().Boot(m, nil, false); err == nil {
		t.Error("another machine of the name booted")
	}
	must(f.cluster().Delete("w0", "second"))
	must(f.cluster().AilMachine("w0", "second", MachineAilments{Gone: true}))
	if got, ok := f.cluster().Machine("w0"); !ok || got.Gone || got.UID != "first" {
		t.Errorf("what befell another machine befell %+v", got)
	}
	must(f.cluster().Delete("w0", "first"))
	if _, ok := f.cluster().Machine("w0"); ok {
		t.Error("it is there")
	}
}

func TestLook_FindsWhatWasLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := newFleet(t, dir)
	const id = "00000000-1111-2222-3333-4444444444"
	for _, name := range []string{"a/x-y-" + id + "01", "a/x-y-" + id + "02.damaged-20060102", "b/z.damaged-1-" + id + "03", "a/README", "a/-" + id + "04", "a/c-u1"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	names, err := f.world.Look()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]types.UID{}
	for _, name := range names {
		got[name.String()] = f.world.IDs(name)
	}
	if diff := cmp.Diff(map[string][]types.UID{"a/x-y": {id + "01", id + "02"}, "b/z.damaged-1": {id + "03"}}, got); diff != "" {
		t.Error("known (-want +got):\n" + diff)
	}
}
