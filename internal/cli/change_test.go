package cli

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
)

// ofCluster answers with the objects of one cluster of the golden fleet.
func ofCluster(t *testing.T, name string, change func(*clusterv1.MachineDeployment)) canned {
	t.Helper()
	answers := knownKinds()
	lists := map[string][]any{}
	scheme := newScheme()
	for _, o := range goldenFleet(t) {
		if o.GetLabels()[clusterv1.ClusterNameLabel] != name {
			continue
		}
		if md, ok := o.(*clusterv1.MachineDeployment); ok && change != nil {
			change(md)
		}
		gvks, _, err := scheme.ObjectKinds(o)
		if err != nil {
			t.Fatal(err)
		}
		o.GetObjectKind().SetGroupVersionKind(gvks[0])
		path := pathOf(gvks[0], o)
		answers[path] = o
		parent := path[:strings.LastIndex(path, "/")]
		lists[parent] = append(lists[parent], o)
		answers[parent] = list(gvks[0].GroupVersion().String(), gvks[0].Kind+"List", lists[parent]...)
	}
	return answers
}

// inNamespace moves what is answered for the default namespace into another.
func inNamespace(namespace string, answers canned) canned {
	moved := canned{}
	for path, answer := range answers {
		if o, ok := answer.(client.Object); ok {
			o.SetNamespace(namespace)
		}
		moved[strings.Replace(path, "/namespaces/default/", "/namespaces/"+namespace+"/", 1)] = answer
	}
	return moved
}

func pathOf(gvk schema.GroupVersionKind, o client.Object) string {
	return fmt.Sprintf("/apis/%s/namespaces/%s/%ss/%s", gvk.GroupVersion(), o.GetNamespace(), strings.ToLower(gvk.Kind), o.GetName())
}

func TestChange_AsksRefusesAndWaitsAsItSays(t *testing.T) {
	t.Parallel()
	autoscaled := func(md *clusterv1.MachineDeployment) {
		md.Annotations = map[string]string{clusterv1.AutoscalerMinSizeAnnotation: "1", clusterv1.AutoscalerMaxSizeAnnotation: "9"}
	}
	rows := []struct {
		name, cluster string
		change        func(*clusterv1.MachineDeployment)
		args          []string
		code          exitCode
		// elsewhere has the cluster in another namespace of another context, which flags name.
		elsewhere bool
	}{
		{name: "create-existing", cluster: "demo", args: []string{"create", "cluster", "demo"}, code: exitFailed},
		{name: "create-dry-run", cluster: "demo", args: []string{"create", "cluster", "fresh", "--dry-run"}, code: exitDone},
		{name: "create-as-json", cluster: "demo", args: []string{"create", "cluster", "fresh", "-o", "json"}, code: exitDone},
		{name: "create-as-json-lines", cluster: "demo", args: []string{"create", "cluster", "fresh", "-o", "jsonl"}, code: exitDone},
		{name: "create", cluster: "demo", args: []string{"create", "cluster", "fresh"}, code: exitDone},
		{name: "scale-unchanged", cluster: "demo", args: []string{"scale", "demo", "--workers", "5"}, code: exitDone},
		{name: "scale-up", cluster: "demo", args: []string{"scale", "demo", "--workers", "7"}, code: exitDone},
		{name: "scale-up-dry-run", cluster: "demo", args: []string{"scale", "demo", "--workers", "7", "--control-plane", "5", "--dry-run"}, code: exitDone},
		{name: "scale-down-unasked", cluster: "demo", args: []string{"scale", "demo", "--workers", "2"}, code: exitRefused},
		{name: "scale-down-with-consent", cluster: "demo", args: []string{"scale", "md/demo-md-0", "--replicas", "2", "-y", "-q"}, code: exitDone},
		{name: "scale-below-quorum-with-yes", cluster: "demo", args: []string{"scale", "demo", "--control-plane", "1", "--yes"}, code: exitRefused},
		{name: "scale-below-quorum-unasked", cluster: "demo", args: []string{"scale", "kcp/demo-cp", "--replicas", "1"}, code: exitRefused},
		{name: "scale-below-quorum", cluster: "demo", args: []string{"scale", "demo", "--control-plane", "1", "--yes", "--confirm", "demo"}, code: exitDone},
		{name: "scale-autoscaled", cluster: "demo", change: autoscaled, args: []string{"scale", "demo", "--workers", "7"}, code: exitRefused},
		{name: "scale-no-such-deployment", cluster: "demo", args: []string{"scale", "md/other", "--replicas", "2"}, code: exitFailed},
		{name: "scale-wait-ready", cluster: "demo", args: []string{"scale", "demo", "--workers", "7", "--wait"}, code: exitDone},
		{name: "scale-wait-as-json-lines", cluster: "demo", args: []string{"scale", "demo", "--workers", "7", "--wait", "-o", "jsonl"}, code: exitDone},
		{name: "scale-as-json", cluster: "demo", args: []string{"scale", "demo", "--workers", "7", "-o", "json", "-q"}, code: exitDone},
		{name: "scale-wait-stalled", cluster: "yard", args: []string{"scale", "yard", "--workers", "3", "--wait"}, code: exitNo},
		{name: "upgrade-unasked", cluster: "demo", args: []string{"upgrade", "demo", "--version", "v1.37.2"}, code: exitRefused},
		{name: "upgrade-dry-run", cluster: "demo", args: []string{"upgrade", "demo", "--version", "1.37.2", "--dry-run"}, code: exitDone},
		{name: "upgrade-with-consent", cluster: "demo", args: []string{"upgrade", "demo", "--version", "v1.37.2", "-y"}, code: exitDone},
		{name: "upgrade-too-far", cluster: "demo", args: []string{"upgrade", "demo", "--version", "v1.38.0"}, code: exitRefused},
		{name: "upgrade-down", cluster: "demo", args: []string{"upgrade", "demo", "--version", "v1.35.0"}, code: exitRefused},
		{name: "upgrade-unchanged", cluster: "demo", args: []string{"upgrade", "demo", "--version", "v1.36.2"}, code: exitDone},
		{name: "upgrade-wait-stuck", cluster: "lab", args: []string{"upgrade", "lab", "--version", "v1.36.2", "--wait"}, code: exitNo},
		{name: "rollout-status", cluster: "edge", args: []string{"rollout", "status", "machinedeployment/edge-md-0"}, code: exitDone},
		{name: "rollout-status-stuck", cluster: "lab", args: []string{"rollout", "status", "kcp/lab-cp", "-o", "json"}, code: exitNo},
		{name: "rollout-status-look-once", cluster: "edge", args: []string{"rollout", "status", "md/edge-md-0", "--wait", "--timeout", "0"}, code: exitNo},
		{name: "rollout-restart-unasked", cluster: "demo", args: []string{"rollout", "restart", "kcp/demo-cp"}, code: exitRefused},
		{name: "rollout-restart", cluster: "demo", args: []string{"rollout", "restart", "kcp/demo-cp", "-y"}, code: exitDone},
		{name: "rollout-restart-cluster", cluster: "demo", args: []string{"rollout", "restart", "demo"}, code: exitFailed},
		{name: "rollout-pause", cluster: "demo", args: []string{"rollout", "pause", "md/demo-md-0"}, code: exitDone},
		{name: "rollout-resume", cluster: "demo", args: []string{"rollout", "resume", "demo"}, code: exitDone},
		{name: "delete-unasked", cluster: "demo", args: []string{"delete", "cluster", "demo"}, code: exitRefused},
		{name: "delete-wrong-name", cluster: "demo", args: []string{"delete", "cluster", "demo", "--yes", "--confirm", "dem"}, code: exitRefused},
		{name: "delete-yes-alone", cluster: "demo", args: []string{"delete", "cluster", "demo", "--yes"}, code: exitRefused},
		{name: "delete", cluster: "demo", args: []string{"delete", "cluster", "demo", "--yes", "--confirm", "demo"}, code: exitDone},
		{name: "delete-wait-broken", cluster: "yard", args: []string{"delete", "cluster", "yard", "--yes", "--confirm", "yard", "--wait", "--timeout", "3s"}, code: exitNo},
		{name: "delete-dry-run", cluster: "demo", args: []string{"delete", "cluster", "demo", "--dry-run"}, code: exitDone},
		{name: "delete-no-such", cluster: "demo", args: []string{"delete", "cluster", "other"}, code: exitFailed},
		{name: "delete-unasked-elsewhere", cluster: "demo", elsewhere: true, args: []string{"delete", "cluster", "demo"}, code: exitRefused},
		{name: "delete-yes-alone-elsewhere", cluster: "demo", elsewhere: true, args: []string{"delete", "cluster", "demo", "--yes"}, code: exitRefused},
		{name: "delete-elsewhere", cluster: "demo", elsewhere: true, args: []string{"delete", "cluster", "demo", "--yes", "--confirm", "demo"}, code: exitDone},
		{name: "scale-down-unasked-elsewhere", cluster: "demo", elsewhere: true, args: []string{"scale", "demo", "--workers", "2"}, code: exitRefused},
		{name: "scale-below-quorum-unasked-elsewhere", cluster: "demo", elsewhere: true, args: []string{"scale", "kcp/demo-cp", "--replicas", "1"}, code: exitRefused},
		{name: "scale-up-elsewhere", cluster: "demo", elsewhere: true, args: []string{"scale", "demo", "--workers", "7"}, code: exitDone},
		{name: "scale-autoscaled-elsewhere", cluster: "demo", elsewhere: true, change: autoscaled, args: []string{"scale", "demo", "--workers", "7"}, code: exitRefused},
		{name: "upgrade-unasked-elsewhere", cluster: "demo", elsewhere: true, args: []string{"upgrade", "demo", "--version", "v1.37.2"}, code: exitRefused},
		{name: "upgrade-too-far-elsewhere", cluster: "demo", elsewhere: true, args: []string{"upgrade", "demo", "--version", "v1.38.0"}, code: exitRefused},
		{name: "rollout-restart-unasked-elsewhere", cluster: "demo", elsewhere: true, args: []string{"rollout", "restart", "kcp/demo-cp"}, code: exitRefused},
		{name: "rollout-restart-elsewhere", cluster: "demo", elsewhere: true, args: []string{"rollout", "restart", "kcp/demo-cp", "-y"}, code: exitDone},
		{name: "kubeconfig-not-yet", cluster: "new", args: []string{"kubeconfig", "new"}, code: exitFailed},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			answers, args := ofCluster(t, r.cluster, r.change), r.args
			if r.elsewhere {
				answers, args = inNamespace("other", answers), append(args, "-n", "other", "--context", "elsewhere")
			}
			got := run(t, answers, args...)
			if got.code != int(r.code) {
				t.Errorf("exit code %d, want %d", got.code, r.code)
			}
			golden(t, filepath.Join("change", r.name+".txt"), []byte(got.String()))
		})
	}
}

// refusing answers every change with a status of the API server.
type refusing struct {
	canned
	code   int
	status string
}

func (r refusing) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method == http.MethodGet {
		r.canned.ServeHTTP(w, req)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.code)
	fmt.Fprint(w, r.status)
}

// forbidden is the answer to who lacks a right.
const forbidden = `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Forbidden","code":403,"message":"machinedeployments \"demo-md-0\" is forbidden: User \"ada\" cannot patch resource \"machinedeployments\""}`

func TestChange_KeepsTheServersSentence(t *testing.T) {
	t.Parallel()
	got := run(t, refusing{ofCluster(t, "demo", nil), http.StatusForbidden, forbidden}, "scale", "demo", "--workers", "7")
	if got.code != int(exitFailed) || !strings.Contains(got.stderr, `User "ada" cannot patch`) {
		t.Errorf("%s", got)
	}
}

func TestWait_EndsWithTheLastStateWhenTimeIsUp(t *testing.T) {
	t.Parallel()
	got := run(t, ofCluster(t, "edge", nil), "rollout", "status", "md/edge-md-0", "--wait", "--timeout", "2s")
	if got.code != int(exitNo) || !strings.Contains(got.stderr, "error: cannot roll out machinedeployment/edge-md-0") {
		t.Errorf("%s", got)
	}
}

func TestWait_SaysWhatGoesOnWhenNobodyLooksAnyMore(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The user stops looking once the wait has begun.
		if r.URL.Query().Get("watch") != "" {
			interrupt()
		}
		ofCluster(t, "edge", nil).ServeHTTP(w, r)
	})
	got := runUntil(ctx, t, handler, "upgrade", "edge", "--version", "v1.36.2", "--wait", "--timeout", "1m")
	if got.code != int(exitInterrupted) || !strings.Contains(got.stderr, "the work goes on") || !strings.Contains(got.stderr, "slipway tree edge -w") {
		t.Errorf("%s", got)
	}
}

func TestTree_ShowsTheRestWhereTheInfrastructureMayNotBeRead(t *testing.T) {
	t.Parallel()
	answers := ofCluster(t, "demo", nil)
	path := pathOf(infrav1.GroupVersion.WithKind("SimCluster"), &infrav1.SimCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo"}})
	if answers[path] == nil {
		t.Fatalf("nothing is answered at %s", path)
	}
	answers[path] = apierrors.NewForbidden(schema.GroupResource{Resource: "simclusters"}, "demo", nil).Status()
	got := run(t, answers, "tree", "demo")
	if got.code != int(exitDone) || !strings.Contains(got.stdout, "KubeadmControlPlane/demo-cp") {
		t.Errorf("exit code %d:\n%s%s", got.code, got.stdout, got.stderr)
	}
}
