package webhooks_test

import (
	"encoding/json"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
	"slipway.dev/slipway/internal/webhooks"
)

func kindOf(t testing.TB, obj client.Object) schema.GroupVersionKind {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clusterv1.AddToScheme, bootstrapv1.AddToScheme, controlplanev1.AddToScheme, infrav1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	gvk, err := apiutil.GVKForObject(obj, scheme)
	if err != nil {
		t.Fatal(err)
	}
	return gvk
}

// webhookOf returns the webhook of an object's kind; nil when there is none.
func webhookOf(t testing.TB, gvk schema.GroupVersionKind, verb string) *webhooks.Webhook {
	t.Helper()
	path := "/" + verb + "-" + strings.ReplaceAll(gvk.Group, ".", "-") + "-" + gvk.Version + "-" + strings.ToLower(gvk.Kind)
	for _, w := range webhooks.All(nil) {
		if w.Path == path {
			return &w
		}
	}
	return nil
}

func encode(t testing.TB, obj any) []byte {
	t.Helper()
	raw, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// ask sends an object to its kind's webhook, as an update when there is an old one.
func ask(t testing.TB, verb string, obj, old client.Object) admission.Response {
	t.Helper()
	gvk := kindOf(t, obj)
	w := webhookOf(t, gvk, verb)
	if w == nil {
		t.Fatalf("no webhook to %s a %s", verb, gvk.Kind)
	}
	return w.Handler.Handle(t.Context(), request(gvk, encode(t, obj), oldOf(t, old)))
}

func oldOf(t testing.TB, old client.Object) []byte {
	t.Helper()
	if old == nil {
		return nil
	}
	return encode(t, old)
}

func request(gvk schema.GroupVersionKind, obj, old []byte) admission.Request {
	req := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Kind: metav1.GroupVersionKind(gvk), Name: "name", Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: obj},
	}}
	if old != nil {
		req.Operation, req.OldObject = admissionv1.Update, runtime.RawExtension{Raw: old}
	}
	return req
}

// refusals returns the sentences with which an object is refused.
func refusals(response admission.Response) []string {
	if response.Allowed {
		return nil
	}
	if response.Result.Details == nil {
		return []string{response.Result.Message}
	}
	var sentences []string
	for _, cause := range response.Result.Details.Causes {
		sentences = append(sentences, cause.Field+": "+cause.Message)
	}
	return sentences
}

// defaulted returns the object with its defaults.
func defaulted[T client.Object](t testing.TB, obj, old T) T {
	t.Helper()
	var stored client.Object
	if any(old) != any(*new(T)) {
		stored = old
	}
	response := ask(t, "mutate", obj, stored)
	if !response.Allowed {
		t.Fatalf("refused: %q", refusals(response))
	}
	return patched(t, obj, response)
}

func patched[T client.Object](t testing.TB, obj T, response admission.Response) T {
	t.Helper()
	raw := encode(t, obj)
	if response.Patch != nil {
		patch, err := jsonpatch.DecodePatch(response.Patch)
		if err != nil {
			t.Fatal(err)
		}
		if raw, err = patch.Apply(raw); err != nil {
			t.Fatal(err)
		}
	}
	result, ok := obj.DeepCopyObject().(T)
	if !ok {
		t.Fatalf("no copy of %T", obj)
	}
	// What the patch removed must not survive in the copy.
	if err := json.Unmarshal([]byte(`{"metadata":{"labels":null}}`), result); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, result); err != nil {
		t.Fatal(err)
	}
	return result
}

// row is one object and the sentences with which it is refused: none when it is good.
type row struct {
	name string
	obj  client.Object
	// old is what is stored; nil when the object is new.
	old  client.Object
	want []string
}

func checkRows(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(r.want, refusals(ask(t, "validate", r.obj, r.old))); diff != "" {
				t.Errorf("refusals (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAll_NamesAndPathsAreThoseOfClusterAPI(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	for _, w := range webhooks.All(nil) {
		if _, twice := got[w.Path]; twice {
			t.Errorf("%s is there twice", w.Path)
		}
		got[w.Path] = w.Name + " " + w.Resource.Resource
	}
	want := map[string]string{
		"/mutate-cluster-x-k8s-io-v1beta2-machine":                                    "default.machine.cluster.x-k8s.io machines",
		"/mutate-cluster-x-k8s-io-v1beta2-machinedeployment":                          "default.machinedeployment.cluster.x-k8s.io machinedeployments",
		"/mutate-cluster-x-k8s-io-v1beta2-machinehealthcheck":                         "default.machinehealthcheck.cluster.x-k8s.io machinehealthchecks",
		"/mutate-cluster-x-k8s-io-v1beta2-machinepool":                                "default.machinepool.cluster.x-k8s.io machinepools",
		"/mutate-cluster-x-k8s-io-v1beta2-machineset":                                 "default.machineset.cluster.x-k8s.io machinesets",
		"/mutate-controlplane-cluster-x-k8s-io-v1beta2-kubeadmcontrolplane":           "default.kubeadmcontrolplane.controlplane.cluster.x-k8s.io kubeadmcontrolplanes",
		"/validate-bootstrap-cluster-x-k8s-io-v1beta2-kubeadmconfig":                  "validation.kubeadmconfig.bootstrap.cluster.x-k8s.io kubeadmconfigs",
		"/validate-bootstrap-cluster-x-k8s-io-v1beta2-kubeadmconfigtemplate":          "validation.kubeadmconfigtemplate.bootstrap.cluster.x-k8s.io kubeadmconfigtemplates",
		"/validate-cluster-x-k8s-io-v1beta2-cluster":                                  "validation.cluster.cluster.x-k8s.io clusters",
		"/validate-cluster-x-k8s-io-v1beta2-clusterclass":                             "validation.clusterclass.cluster.x-k8s.io clusterclasses",
		"/validate-cluster-x-k8s-io-v1beta2-machine":                                  "validation.machine.cluster.x-k8s.io machines",
		"/validate-cluster-x-k8s-io-v1beta2-machinedeployment":                        "validation.machinedeployment.cluster.x-k8s.io machinedeployments",
		"/validate-cluster-x-k8s-io-v1beta2-machinedrainrule":                         "validation.machinedrainrule.cluster.x-k8s.io machinedrainrules",
		"/validate-cluster-x-k8s-io-v1beta2-machinehealthcheck":                       "validation.machinehealthcheck.cluster.x-k8s.io machinehealthchecks",
		"/validate-cluster-x-k8s-io-v1beta2-machinepool":                              "validation.machinepool.cluster.x-k8s.io machinepools",
		"/validate-cluster-x-k8s-io-v1beta2-machineset":                               "validation.machineset.cluster.x-k8s.io machinesets",
		"/validate-controlplane-cluster-x-k8s-io-v1beta2-kubeadmcontrolplane":         "validation.kubeadmcontrolplane.controlplane.cluster.x-k8s.io kubeadmcontrolplanes",
		"/validate-controlplane-cluster-x-k8s-io-v1beta2-kubeadmcontrolplanetemplate": "validation.kubeadmcontrolplanetemplate.controlplane.cluster.x-k8s.io kubeadmcontrolplanetemplates",
		"/validate-infrastructure-cluster-x-k8s-io-v1alpha1-simclustertemplate":       "validation.simclustertemplate.infrastructure.cluster.x-k8s.io simclustertemplates",
		"/validate-scale-controlplane-cluster-x-k8s-io-v1beta2-kubeadmcontrolplane":   "validation-scale.kubeadmcontrolplane.controlplane.cluster.x-k8s.io kubeadmcontrolplanes/scale",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("webhooks (-want +got):\n%s", diff)
	}
}

func TestValidation_LeavesObjectsBeingDeletedAlone(t *testing.T) {
	t.Parallel()
	old := machineDeployment(func(d *clusterv1.MachineDeployment) {
		d.Spec.Replicas, d.Spec.Template.Spec.Version = new(int32(-1)), "v1"
		d.DeletionTimestamp, d.Finalizers = new(metav1.Now()), []string{"a/b"}
	})
	without := old.DeepCopy()
	without.Finalizers, without.Labels = nil, nil
	for _, verb := range []string{"mutate", "validate"} {
		if r := ask(t, verb, without, old); !r.Allowed || r.Patch != nil {
			t.Errorf("%s: the removal of a finalizer was held up: %q %s", verb, refusals(r), r.Patch)
		}
	}
	changed := without.DeepCopy()
	changed.Spec.Template.Spec.Version = "v2"
	if r := ask(t, "validate", changed, old); r.Allowed {
		t.Error("a mistake was let in because the object is being deleted")
	}
}

func TestValidation_StoredMistakesDoNotHoldUpOtherChanges(t *testing.T) {
	t.Parallel()
	old := controlPlane(func(k *controlplanev1.KubeadmControlPlane) {
		k.Spec.Replicas, k.Spec.Version = new(int32(2)), "v1.37"
		k.Spec.Remediation.MaxRetry = new(int32(1))
	})
	labelled := old.DeepCopy()
	labelled.Spec.MachineTemplate.ObjectMeta.Labels = map[string]string{"a": "b"}
	worse := old.DeepCopy()
	worse.Spec.Replicas = new(int32(4))
	mended := old.DeepCopy()
	mended.Spec.Version = "v1.37.2"
	checkRows(t, []row{
		{name: "another field", obj: labelled, old: old},
		{name: "one of several mended", obj: mended, old: old},
		{name: "another mistake of the kind", obj: worse, old: old, want: []string{
			"spec.replicas: Invalid value: 4: each control plane machine runs a member of etcd, and 4 members survive the loss of no more of them than 3 do: write 3 or 5",
		}},
	})
}

func TestDefaulting_PassesWhatDoesNotDecodeOnToTheSchema(t *testing.T) {
	t.Parallel()
	for _, w := range webhooks.All(nil) {
		if !w.Mutating {
			continue
		}
		r := w.Handler.Handle(t.Context(), request(schema.GroupVersionKind{Kind: "Any"}, []byte(`{"metadata":{},"spec":5}`), nil))
		if !r.Allowed || r.Patch != nil {
			t.Errorf("%s: %q %s", w.Name, refusals(r), r.Patch)
		}
	}
}
