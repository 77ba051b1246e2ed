package kubeadmconfig_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/controllers/kubeadmconfig"
	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/kubeadm/cloudinit"
	"slipway.dev/slipway/internal/kubeadm/token"
	"slipway.dev/slipway/internal/planetest"
)

func TestInit_MakesAuthoritiesAndData(t *testing.T) {
	t.Parallel()
	w := newWorld(t).run()
	asked := w.controlPlane("first")
	data := w.made("first")
	owner := metav1.GetControllerOf(data)
	if data.Type != clusterv1.ClusterSecretType || string(data.Data["format"]) != "cloud-config" || data.Labels[clusterv1.ClusterNameLabel] != clusterName ||
		owner == nil || owner.Kind != "KubeadmConfig" || owner.UID != asked.UID {
		t.Errorf("Secret is of type %s, format %s, labels %v, owner %v", data.Type, data.Data["format"], data.Labels, owner)
	}
	d := w.documents(data, cloudinit.InitConfigPath)
	if d.Cluster == nil || d.Cluster.ClusterName != clusterName || d.Cluster.KubernetesVersion != version || d.Cluster.ControlPlaneEndpoint != "10.0.0.1:6443" ||
		d.Cluster.Networking.PodSubnet != "10.244.0.0/16" || d.Join != nil {
		t.Errorf("kubeadm reads %+v", d)
	}
	parsed := w.read(data)
	for _, p := range certs.Generated(certs.ExternalEtcd{}) {
		secret := &corev1.Secret{}
		w.must(w.Get(t.Context(), w.key(p.SecretName(clusterName)), secret))
		if len(secret.OwnerReferences) != 1 || secret.OwnerReferences[0].Kind != "Cluster" {
			t.Errorf("Secret %s belongs to %v: it must outlive the first machine", secret.Name, secret.OwnerReferences)
		}
		files := p.Files("", certs.ExternalEtcd{})
		if got, ok := parsed.Content(files.Cert); !ok || !bytes.Equal(got, secret.Data["tls.crt"]) {
			t.Errorf("file %s differs from Secret %s", files.Cert, secret.Name)
		}
	}
	live := w.until("first", isMade)
	if diff := cmp.Diff(asked.Spec, live.Spec); diff != "" {
		t.Error("the spec was changed:\n", diff)
	}
	checkStatus(t, live)
}

func checkStatus(t *testing.T, c *bootstrapv1.KubeadmConfig) {
	t.Helper()
	for _, want := range []string{clusterv1.ReadyCondition, bootstrapv1.KubeadmConfigDataSecretAvailableCondition, bootstrapv1.KubeadmConfigCertificatesAvailableCondition} {
		if !conditions.IsTrue(c.Status.Conditions, want) {
			t.Errorf("%s is %+v", want, conditions.Find(c.Status.Conditions, want))
		}
		if old := conditions.FindV1Beta1(c.Status.Deprecated.V1Beta1.Conditions, clusterv1.ConditionType(want)); old == nil || old.Status != corev1.ConditionTrue {
			t.Errorf("deprecated %s is %+v", want, old)
		}
	}
	if !conditions.IsFalse(c.Status.Conditions, clusterv1.PausedCondition) || c.Status.ObservedGeneration != c.Generation {
		t.Errorf("status is %+v at generation %d", c.Status, c.Generation)
	}
}

func TestInit_ExactlyOneMachineStarts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	names := []string{"a", "b", "c"}
	for _, name := range names {
		w.controlPlane(name)
	}
	w.run()
	first := w.starter(names...)
	rest := []string{}
	for _, name := range names {
		if name != first {
			w.until(name, tells("Machine "+first+" starts the control plane"))
			rest = append(rest, name)
		}
	}
	// The holder goes: another one takes over.
	w.must(w.Delete(t.Context(), &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: first}}))
	second := w.starter(rest...)
	w.serve()
	w.initialized()
	for _, name := range rest {
		if name == second {
			continue
		}
		if d := w.documents(w.made(name), cloudinit.JoinConfigPath); d.Join.ControlPlane == nil || d.Join.Discovery.BootstrapToken.APIServerEndpoint != "10.0.0.1:6443" {
			t.Errorf("%s reads %+v", name, d.Join)
		}
	}
	planetest.Eventually(t, func(ctx context.Context) error { return w.absent(ctx, clusterName+"-lock", &corev1.ConfigMap{}) })
}

// starter waits until one of the machines has data that starts a control plane, and returns its name.
func (w *world) starter(names ...string) string {
	w.Helper()
	var found []string
	planetest.Eventually(w, func(ctx context.Context) error {
		found = nil
		for _, name := range names {
			err := w.Get(ctx, w.key(name), &corev1.Secret{})
			if err == nil {
				found = append(found, name)
			} else if client.IgnoreNotFound(err) != nil {
				return err
			}
		}
		if len(found) == 0 {
			return errors.New("no machine starts")
		}
		return nil
	})
	if len(found) != 1 {
		w.Fatalf("machines %v start", found)
	}
	w.documents(w.made(found[0]), cloudinit.InitConfigPath)
	return found[0]
}

func TestInit_IsNotForAMachineThatOnlyJoins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.controlPlane("a-joins", func(c *bootstrapv1.KubeadmConfig) {
		c.Spec.ClusterConfiguration = bootstrapv1.ClusterConfiguration{}
		c.Spec.JoinConfiguration.ControlPlane = &bootstrapv1.JoinControlPlane{}
	})
	w.run()
	w.until("a-joins", tells("Waiting for another machine to start the control plane"))
	w.must(w.absent(t.Context(), clusterName+"-lock", &corev1.ConfigMap{}))
	w.controlPlane("starts")
	if first := w.starter("a-joins", "starts"); first != "starts" {
		t.Errorf("%s starts the control plane", first)
	}
	w.serve()
	w.initialized()
	w.documents(w.made("a-joins"), cloudinit.JoinConfigPath)
}

func TestInit_WaitsForAHolderThatIsStillBeingDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t).run()
	w.controlPlane("a")
	w.made("a")
	holder := &clusterv1.Machine{}
	w.must(w.Get(t.Context(), w.key("a"), holder))
	before := holder.DeepCopy()
	holder.Finalizers = []string{clusterv1.MachineFinalizer}
	w.must(w.Patch(t.Context(), holder, client.MergeFrom(before)))
	w.must(w.Delete(t.Context(), holder))
	w.controlPlane("b")
	w.until("b", tells("Machine a starts the control plane"))
	w.must(w.absent(t.Context(), "b", &corev1.Secret{}))
	before = holder.DeepCopy()
	holder.Finalizers = nil
	w.must(w.Patch(t.Context(), holder, client.MergeFrom(before)))
	w.documents(w.made("b"), cloudinit.InitConfigPath)
}

func TestAuthorities_AreNotMadeBesideAControlPlaneObject(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *clusterv1.Cluster) {
		c.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: "fake.slipway.dev", Kind: "FakeControlPlane", Name: "cp"}
	}).run()
	w.controlPlane("first")
	w.until("first", tells("Waiting for Secret", "demo-ca", "FakeControlPlane cp"))
	w.must(w.absent(t.Context(), "demo-ca", &corev1.Secret{}))
	w.authorities()
	w.made("first")
}

func TestAuthorities_ThatAreBrokenAreNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t).run()
	w.must(w.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "demo-ca"},
		Data:       map[string][]byte{"tls.crt": []byte("no certificate"), "tls.key": []byte("no key")},
	}))
	w.controlPlane("first")
	c := w.until("first", tells("demo-ca", "cannot be used"))
	got := conditions.Find(c.Status.Conditions, bootstrapv1.KubeadmConfigCertificatesAvailableCondition)
	if got == nil || got.Status != metav1.ConditionFalse || got.Reason != clusterv1.InternalErrorReason || !strings.Contains(got.Message, "demo-ca") {
		t.Errorf("CertificatesAvailable is %+v", got)
	}
}

// Another authority than that of the machines which run would split the control plane.
func TestAuthorities_OfARunningControlPlaneAreNeverMadeAnew(t *testing.T) {
	t.Parallel()
	w := started(t)
	w.must(w.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "demo-etcd"}}))
	w.run()
	w.controlPlane("second")
	w.until("second", tells("Waiting for Secret demo-etcd", "restore it from a backup"))
	w.must(w.absent(t.Context(), "demo-etcd", &corev1.Secret{}))
}

func TestWaits_SayWhatFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *clusterv1.Cluster) { c.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{} })
	w.initialization(clusterv1.ClusterInitializationStatus{})
	w.run()
	w.worker("worker")
	w.must(w.Create(t.Context(), &bootstrapv1.KubeadmConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "lonely"},
		Spec:       bootstrapv1.KubeadmConfigSpec{PreKubeadmCommands: []string{"true"}},
	}))
	w.until("worker", tells("infrastructure"))
	w.until("lonely", tells("Waiting for a Machine"))
	w.initialization(clusterv1.ClusterInitializationStatus{InfrastructureProvisioned: new(true)})
	w.until("worker", tells("spec.controlPlaneEndpoint"))
	before := w.cluster.DeepCopy()
	w.cluster.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "10.0.0.1", Port: 6443}
	w.must(w.Patch(t.Context(), w.cluster, client.MergeFrom(before)))
	w.until("worker", tells("control plane to be initialized"))
	before = w.cluster.DeepCopy()
	w.cluster.Spec.Paused = new(true)
	w.must(w.Patch(t.Context(), w.cluster, client.MergeFrom(before)))
	c := w.until("worker", func(c *bootstrapv1.KubeadmConfig) error {
		if !conditions.IsTrue(c.Status.Conditions, clusterv1.PausedCondition) {
			return errors.New("not paused")
		}
		return nil
	})
	if err := tells("control plane to be initialized")(c); err != nil {
		t.Error("the pause took another condition away:", err)
	}
}

func TestJoin_TokenIsMadeKeptAndRemoved(t *testing.T) {
	t.Parallel()
	w := started(t).run(func(r *kubeadmconfig.Reconciler) { r.TokenTTL = 3 * time.Second })
	w.worker("worker")
	data := w.made("worker")
	join := w.documents(data, cloudinit.JoinConfigPath).Join
	if join.ControlPlane != nil || join.NodeRegistration.Taints == nil || len(join.Discovery.BootstrapToken.CACertHashes) != 1 {
		t.Errorf("kubeadm reads %+v", join)
	}
	if _, ok := w.read(data).Content("/etc/kubernetes/pki/ca.key"); ok {
		t.Error("a worker got a key")
	}
	list := w.untilTokens(1)
	record, err := token.FromSecret(&list[0])
	w.must(err)
	if record.Token.String() != join.Discovery.BootstrapToken.Token {
		t.Error("the token in the workload cluster is another one")
	}
	planetest.Eventually(t, func(ctx context.Context) error {
		list, err := w.tokens(ctx)
		if err != nil || len(list) != 1 {
			return fmt.Errorf("%d tokens: %w", len(list), err)
		}
		if later, err := token.FromSecret(&list[0]); err != nil || !later.Expires.After(record.Expires) {
			return fmt.Errorf("not prolonged: %w", err)
		}
		return nil
	})
	w.must(w.workload.Delete(t.Context(), &list[0]))
	again := w.untilTokens(1)
	if back, err := token.FromSecret(&again[0]); err != nil || back.Token != record.Token {
		t.Errorf("made again: %v", err)
	}
	w.joined("worker")
	w.untilTokens(0)
	after := &corev1.Secret{}
	w.must(w.Get(t.Context(), client.ObjectKeyFromObject(data), after))
	if after.ResourceVersion != data.ResourceVersion {
		t.Error("the data was written again")
	}
}

func TestJoin_DataIsNotPublishedBeforeItsTokenExists(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.authorities()
	w.initialized()
	w.run()
	w.worker("worker")
	w.until("worker", tells("Waiting for the workload cluster to be reachable"))
	w.serve()
	w.made("worker")
	w.untilTokens(1)
}

func TestData_IsTakenOverWhenTheStatusWasLost(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		lose func(*corev1.Secret)
	}{
		{"the status alone", func(*corev1.Secret) {}},
		{"the owner too", func(s *corev1.Secret) { s.OwnerReferences = nil }},
		{"owner and label too", func(s *corev1.Secret) { s.OwnerReferences, s.Labels = nil, nil }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t).run()
			w.controlPlane("first")
			data := w.made("first")
			lost := data.DeepCopy()
			tc.lose(lost)
			w.must(w.Patch(t.Context(), lost, client.MergeFrom(data)))
			c := w.until("first", isMade)
			before := c.DeepCopy()
			c.Status = bootstrapv1.KubeadmConfigStatus{}
			w.must(w.Status().Patch(t.Context(), c, client.MergeFrom(before)))
			w.until("first", isMade)
			planetest.Eventually(t, func(ctx context.Context) error {
				after := &corev1.Secret{}
				if err := w.Get(ctx, client.ObjectKeyFromObject(data), after); err != nil {
					return err
				}
				if owner := metav1.GetControllerOf(after); owner == nil || owner.UID != c.UID || after.Labels[clusterv1.ClusterNameLabel] != clusterName {
					return fmt.Errorf("owner %v, labels %v", owner, after.Labels)
				}
				if after.UID != data.UID || !bytes.Equal(after.Data["value"], data.Data["value"]) {
					t.Error("the data was made anew")
				}
				return nil
			})
		})
	}
}

func TestData_OfAnotherObjectIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(w.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "first"}, Data: map[string][]byte{"password": []byte("of somebody else")},
	}))
	w.run()
	w.controlPlane("first")
	w.until("first", tells("Secret first exists and is not this object's bootstrap data"))
	w.must(w.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "first"}}))
	w.until("first", isMade)
}

func TestData_OfABootedMachineIsNeverMadeAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t).run()
	w.controlPlane("booted")
	w.made("booted")
	w.editMachine("booted", func(m *clusterv1.Machine) { m.Status.Initialization.InfrastructureProvisioned = new(true) })
	w.must(w.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "booted"}}))
	c := w.until("booted", isMade)
	before := c.DeepCopy()
	c.Status = bootstrapv1.KubeadmConfigStatus{}
	w.must(w.Status().Patch(t.Context(), c, client.MergeFrom(before)))
	w.until("booted", isMade)
	w.must(w.absent(t.Context(), "booted", &corev1.Secret{}))
}

func TestData_OfAMachineThatHasNotBootedIsMadeAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t).run()
	w.controlPlane("first")
	old := w.made("first")
	w.must(w.Delete(t.Context(), old))
	planetest.Eventually(t, func(ctx context.Context) error {
		return w.Get(ctx, w.key("first"), &corev1.Secret{})
	})
}

func TestFiles_FromSecretsAreResolvedInTheDataOnly(t *testing.T) {
	t.Parallel()
	const nasty = "it's \"quoted\": # $HOME {{ x }} \\ äöü\n\ttab\n"
	w := newWorld(t).run()
	asked := w.controlPlane("first", func(c *bootstrapv1.KubeadmConfig) {
		c.Spec.Files = []bootstrapv1.File{
			{Path: "/etc/secret", ContentFrom: bootstrapv1.FileSource{Secret: bootstrapv1.SecretFileSource{Name: "mine", Key: "file"}}},
			{Path: "/etc/version", Content: "{{ .controlPlane.version }}", ContentFormat: bootstrapv1.FileContentFormatTemplate},
		}
		c.Spec.Users = []bootstrapv1.User{{Name: "me", PasswdFrom: bootstrapv1.PasswdSource{Secret: bootstrapv1.SecretPasswdSource{Name: "mine", Key: "hash"}}}}
		c.Spec.PreKubeadmCommands = []string{"echo '" + nasty + "'"}
	})
	w.until("first", tells("Secret mine", "/etc/secret", "does not exist"))
	w.must(w.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "mine"},
		Data:       map[string][]byte{"file": []byte(nasty), "hash": []byte("$6$rounds=4096$abc")},
	}))
	parsed := w.read(w.made("first"))
	for path, want := range map[string]string{"/etc/secret": nasty, "/etc/version": version} {
		if got, ok := parsed.Content(path); !ok || string(got) != want {
			t.Errorf("%s is %q", path, got)
		}
	}
	if parsed.Users[0].Passwd != "$6$rounds=4096$abc" || parsed.RunCommands[0].Line != "echo '"+nasty+"'" {
		t.Errorf("users %+v, commands %+v", parsed.Users, parsed.RunCommands)
	}
	seen := map[string]int{}
	for _, f := range parsed.Files {
		if seen[f.Path]++; seen[f.Path] > 1 {
			t.Errorf("%s is written twice", f.Path)
		}
	}
	if diff := cmp.Diff(asked.Spec, w.until("first", isMade).Spec); diff != "" {
		t.Error("the spec was changed:\n", diff)
	}
}

func TestSecrets_OfBytesThatAreNoText(t *testing.T) {
	t.Parallel()
	binary := []byte{0xff, 0x00, '"', '\n', 0xc3, 0x28, '$', 0xf0, 0x9f, 0x98, 0x80}
	w := newWorld(t).run()
	w.must(w.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "mine"},
		Data:       map[string][]byte{"binary": binary, "coded": []byte(base64.StdEncoding.EncodeToString(binary)), "hash": []byte("$6$rounds=4096$abc")},
	}))
	from := func(key string) bootstrapv1.FileSource {
		return bootstrapv1.FileSource{Secret: bootstrapv1.SecretFileSource{Name: "mine", Key: key}}
	}
	config := w.controlPlane("first", func(c *bootstrapv1.KubeadmConfig) {
		c.Spec.Files = []bootstrapv1.File{{Path: "/binary", ContentFrom: from("binary")}, {Path: "/coded", Encoding: bootstrapv1.Base64, ContentFrom: from("binary")}}
		c.Spec.Users = []bootstrapv1.User{{Name: "me", PasswdFrom: bootstrapv1.PasswdSource{Secret: bootstrapv1.SecretPasswdSource{Name: "mine", Key: "binary"}}}}
	})
	mend := func(change func(*bootstrapv1.KubeadmConfigSpec)) {
		before := config.DeepCopy()
		change(&config.Spec)
		w.must(w.Patch(t.Context(), config, client.MergeFrom(before)))
	}
	w.until("first", tells("File /coded has the encoding base64", "key binary of Secret mine", "leave the encoding out"))
	mend(func(s *bootstrapv1.KubeadmConfigSpec) { s.Files[1].ContentFrom = from("coded") })
	w.until("first", tells("key binary of Secret mine", "user me", "not valid UTF-8", "store the hash as text"))
	mend(func(s *bootstrapv1.KubeadmConfigSpec) { s.Users[0].PasswdFrom.Secret.Key = "hash" })
	parsed := w.read(w.made("first"))
	for _, path := range []string{"/binary", "/coded"} {
		if got, _ := parsed.Content(path); !bytes.Equal(got, binary) {
			t.Errorf("%s is %q", path, got)
		}
	}
}

func TestData_ThatNoSecretHoldsIsExplained(t *testing.T) {
	t.Parallel()
	w := newWorld(t).run()
	w.must(w.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "large"}, Data: map[string][]byte{"file": bytes.Repeat([]byte{0xff}, 900_000)},
	}))
	w.controlPlane("first", func(c *bootstrapv1.KubeadmConfig) {
		c.Spec.Files = []bootstrapv1.File{{Path: "/large", ContentFrom: bootstrapv1.FileSource{Secret: bootstrapv1.SecretFileSource{Name: "large", Key: "file"}}}}
	})
	w.until("first", tells("a Secret holds", "spec.files"))
}

func TestData_OnceMadeNothingIsWritten(t *testing.T) {
	t.Parallel()
	w := started(t).run()
	w.worker("worker")
	w.made("worker")
	w.joined("worker")
	w.untilTokens(0)
	c := w.until("worker", isMade)
	// Another machine's whole life is a while in which a needless write would have shown.
	w.worker("other")
	w.made("other")
	if again := w.until("worker", isMade); again.ResourceVersion != c.ResourceVersion {
		t.Errorf("written from %s to %s:\n%s", c.ResourceVersion, again.ResourceVersion, cmp.Diff(c.Status, again.Status))
	}
}
