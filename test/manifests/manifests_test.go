// Package manifests_test applies the manifests of the documentation as their readers do, and looks at what comes of them:
// the cluster, and byte for byte what its machines are told.
package manifests_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/manager"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/internal/replicas"
	"slipway.dev/slipway/test/fleet"
)

const (
	// patience bounds every wait, on a machine that is busy with other tests.
	patience = 4 * time.Minute
	// glance is how often a test looks.
	glance = 200 * time.Millisecond
	// silence is how long nothing changes before a cluster counts as settled, and after an apply that changed nothing.
	silence = 10 * time.Second
	root    = "../.."
)

func TestMain(m *testing.M) { os.Exit(planetest.MainWithControllers(m)) }

func TestSamples_BecomeClustersAndTheirMachinesAreToldWhatWasAsked(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, "docs", "samples", "*.yaml"))
	if err != nil || len(files) < 4 {
		t.Fatalf("samples: %q, %v", files, err)
	}
	for i, file := range files {
		for way, flags := range map[string][]string{"client-side": nil, "server-side": {"--server-side"}} {
			s := &sample{name: strings.TrimSuffix(filepath.Base(file), ".yaml"), docs: documents(t, file), flags: flags}
			t.Run(s.name+" "+way, func(t *testing.T) {
				t.Parallel()
				s.begin(t, way, rand.New(rand.NewPCG(uint64(i), uint64(len(way))))) //nolint:gosec // An order that can be had again wants no secrets.
				s.apply(t)
				s.eventually(t, "up", s.up)
				s.compareAll(t)
				before := s.quiet(t)
				if out := s.apply(t); way == "client-side" && strings.Count(out, " unchanged\n") != len(s.docs) {
					t.Errorf("applied again:\n%s", out)
				}
				if after := s.quiet(t); before != after {
					t.Errorf("applied again, from\n%s\nto\n%s", before, after)
				}
				if s.name == "autoscaled" {
					s.autoscale(t)
				}
			})
		}
	}
}

// sample is a manifest and what the plane made of it.
type sample struct {
	name      string
	docs      []string
	flags     []string
	namespace string
	c         client.Client
	kinds     []schema.GroupVersionKind
	order     *rand.Rand
}

func documents(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(text), "\n---\n")
}

func (s *sample) begin(t *testing.T, way string, order *rand.Rand) {
	t.Helper()
	c, err := client.New(planetest.Shared(t).Config, client.Options{Scheme: manager.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	s.namespace, s.c, s.kinds, s.order = s.name+"-"+way, c, kindsOf(t, planetest.Shared(t).Config), order
	if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}); err != nil {
		t.Fatal(err)
	}
}

// apply applies the documents in some order with kubectl and returns what it prints.
func (s *sample) apply(t *testing.T) string {
	t.Helper()
	docs := slices.Clone(s.docs)
	s.order.Shuffle(len(docs), func(i, j int) { docs[i], docs[j] = docs[j], docs[i] })
	return s.kubectl(t, strings.Join(docs, "\n---\n"), append([]string{"apply", "-f", "-"}, s.flags...)...)
}

func (s *sample) kubectl(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, "bin", "kubectl"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		path = "kubectl"
	}
	cmd := exec.CommandContext(t.Context(), path, append([]string{"--kubeconfig", planetest.Shared(t).Kubeconfig, "-n", s.namespace}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s (make kubectl builds it): %v\n%s", strings.Join(args, " "), err, out)
	}
	if bytes.Contains(out, []byte("Warning:")) {
		t.Errorf("kubectl %s:\n%s", strings.Join(args, " "), out)
	}
	return string(out)
}

func (s *sample) eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := fleet.Wait(ctx, glance, check); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// up returns nil when the sample's cluster is as its manifest says.
func (s *sample) up(ctx context.Context) error {
	want, err := s.spec(ctx)
	if err != nil {
		return err
	}
	return want.Up(ctx, s.c)
}

func (s *sample) spec(ctx context.Context) (fleet.Spec, error) {
	var clusters clusterv1.ClusterList
	var planes controlplanev1.KubeadmControlPlaneList
	var workers clusterv1.MachineDeploymentList
	for _, list := range []client.ObjectList{&clusters, &planes, &workers} {
		if err := s.c.List(ctx, list, client.InNamespace(s.namespace)); err != nil {
			return fleet.Spec{}, err
		}
	}
	return fleet.Spec{
		Namespace: s.namespace, Name: clusters.Items[0].Name, ControlPlane: *planes.Items[0].Spec.Replicas, Workers: *workers.Items[0].Spec.Replicas,
	}, nil
}

// quiet waits until nothing in the namespace has changed for a while, and returns versions.
func (s *sample) quiet(t *testing.T) string {
	t.Helper()
	var last string
	var since time.Time
	s.eventually(t, "quiet", func(ctx context.Context) error {
		now, err := s.versions(ctx)
		if err != nil {
			return err
		}
		if now != last {
			last, since = now, time.Now()
		}
		if still := time.Since(since); still < silence {
			return fmt.Errorf("something changed %s ago", still)
		}
		return nil
	})
	return last
}

// versions tells of every object in the namespace, of whatever kind but Event, which resourceVersion it has.
func (s *sample) versions(ctx context.Context) (string, error) {
	var out strings.Builder
	for _, kind := range s.kinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		if err := s.c.List(ctx, list, client.InNamespace(s.namespace)); err != nil {
			return "", fmt.Errorf("list every %s: %w", kind.Kind, err)
		}
		for i := range list.Items {
			fmt.Fprintf(&out, "%s %s %s\n", kind.Kind, list.Items[i].Name, list.Items[i].ResourceVersion)
		}
	}
	return out.String(), nil
}

// kindsOf returns the kinds that can be listed in a namespace, but Event.
func kindsOf(t *testing.T, cfg *rest.Config) []schema.GroupVersionKind {
	t.Helper()
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	served, err := d.ServerPreferredNamespacedResources()
	if err != nil {
		t.Fatal(err)
	}
	var kinds []schema.GroupVersionKind
	for _, group := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "update"}}, served) {
		gv, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range group.APIResources {
			if r.Kind != "Event" {
				kinds = append(kinds, gv.WithKind(r.Kind))
			}
		}
	}
	return kinds
}

// compareAll compares the bootstrap data of every machine with what the manifest asks for.
func (s *sample) compareAll(t *testing.T) {
	t.Helper()
	controlPlane, worker := s.asked(t)
	var machines clusterv1.MachineList
	if err := s.c.List(t.Context(), &machines, client.InNamespace(s.namespace)); err != nil {
		t.Fatal(err)
	}
	for i := range machines.Items {
		m, a := &machines.Items[i], worker
		if _, isControlPlane := m.Labels[clusterv1.MachineControlPlaneLabel]; isControlPlane {
			a = controlPlane
		}
		var secret corev1.Secret
		if err := s.c.Get(t.Context(), types.NamespacedName{Namespace: s.namespace, Name: *m.Spec.Bootstrap.DataSecretName}, &secret); err != nil {
			t.Fatal(err)
		}
		if keep := os.Getenv("SLIPWAY_KEEP_BOOTSTRAP"); keep != "" {
			if err := os.WriteFile(filepath.Join(keep, s.namespace+"-"+m.Name), secret.Data["value"], 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if is := named[s.name]; s.name == "kubeadm" && replicas.IsControlPlane(m) && !is.MatchString(m.Name) {
			t.Errorf("Machine %s is not named as the template says", m.Name)
		}
		t.Run(m.Name, func(t *testing.T) { compare(t, secret.Data["value"], a) })
	}
}

// asked reads the manifest itself.
func (s *sample) asked(t *testing.T) (controlPlane, worker asked) {
	t.Helper()
	secrets := map[string][]byte{}
	for _, doc := range s.docs {
		var kind metav1.TypeMeta
		decode(t, doc, &kind)
		switch kind.Kind {
		case "KubeadmControlPlane":
			var kcp controlplanev1.KubeadmControlPlane
			decode(t, doc, &kcp)
			controlPlane = asked{kcp.Spec.KubeadmConfigSpec, secrets, kcp.Spec.Version}
		case "KubeadmConfigTemplate":
			var template bootstrapv1.KubeadmConfigTemplate
			decode(t, doc, &template)
			worker = asked{template.Spec.Template.Spec, secrets, ""}
		case "Secret":
			var secret corev1.Secret
			decode(t, doc, &secret)
			for key, value := range secret.StringData {
				secrets[secret.Name+"/"+key] = []byte(value)
			}
			for key, value := range secret.Data {
				secrets[secret.Name+"/"+key] = value
			}
		}
	}
	worker.version = controlPlane.version
	return controlPlane, worker
}

func decode(t *testing.T, doc string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(doc), into); err != nil {
		t.Fatal(err)
	}
}

// autoscale does what the cluster autoscaler does, and applies the manifest again.
func (s *sample) autoscale(t *testing.T) {
	t.Helper()
	s.kubectl(t, "", "scale", "machinedeployment", "elastic-batch", "--replicas", "3")
	s.apply(t)
	s.eventually(t, "three workers", func(ctx context.Context) error {
		want, err := s.spec(ctx)
		if err == nil && want.Workers != 3 {
			t.Fatalf("a manifest without replicas set them to %d", want.Workers)
		}
		if err == nil {
			err = want.Up(ctx, s.c)
		}
		return err
	})
	s.eventually(t, "labels and taints", func(ctx context.Context) error { return s.batchNodes(ctx, 3) })
}

// named are the names that the samples' templates give, which are none that a Machine has without a template.
var named = map[string]*regexp.Regexp{
	"autoscaled": regexp.MustCompile(`^elastic-batch-[a-z0-9]{5}$`), // of the workers
	"kubeadm":    regexp.MustCompile(`^tuned-cp-[a-z0-9]{5}$`),      // of the control plane
}

// batchNodes returns nil when the workers' Nodes have the labels and taints that their template gives them.
func (s *sample) batchNodes(ctx context.Context, want int) error {
	var secret corev1.Secret
	if err := s.c.Get(ctx, types.NamespacedName{Namespace: s.namespace, Name: "elastic-kubeconfig"}, &secret); err != nil {
		return err
	}
	cfg, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["value"])
	if err != nil {
		return err
	}
	own, err := client.New(cfg, client.Options{})
	if err != nil {
		return err
	}
	var nodes corev1.NodeList
	labels := client.MatchingLabels{"node-role.kubernetes.io/worker": "", "node.cluster.x-k8s.io/pool": "batch", "batch.node-restriction.kubernetes.io/owner": "team-7"}
	if err := own.List(ctx, &nodes, labels); err != nil {
		return err
	}
	if len(nodes.Items) != want {
		return fmt.Errorf("%d Nodes have the labels, want %d", len(nodes.Items), want)
	}
	for i := range nodes.Items {
		n := &nodes.Items[i]
		for _, taint := range []corev1.Taint{
			{Key: "example.com/batch", Value: "only", Effect: corev1.TaintEffectNoSchedule}, {Key: "example.com/warming-up", Effect: corev1.TaintEffectPreferNoSchedule},
		} {
			if !slices.Contains(n.Spec.Taints, taint) {
				return fmt.Errorf("node %s lacks %v: %v", n.Name, taint, n.Spec.Taints)
			}
		}
		if !named["autoscaled"].MatchString(n.Name) {
			return fmt.Errorf("node %s is not named as the template says", n.Name)
		}
	}
	return nil
}
