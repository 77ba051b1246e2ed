package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
	controlplanev1 "slipway.dev/slipway/api/kubeadm/controlplane/v1beta2"
)

// canned answers requests for the paths it knows; it is enough to see what a command sends and prints.
type canned map[string]any

func (c canned) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.URL.Path
	if strings.Contains(r.Header.Get("Accept"), "as=Table") {
		key += "?table"
	}
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Query().Get("watch") != "" {
		<-r.Context().Done()
		return
	}
	answer, found := c[key]
	if r.Method == http.MethodPatch && !found {
		// An object that is applied is answered as it was sent.
		// The body is read whole first: an answer that has begun closes it.
		sent, _ := io.ReadAll(r.Body)
		_, _ = w.Write(sent)
		return
	}
	if status, refused := answer.(metav1.Status); refused {
		w.WriteHeader(int(status.Code))
	}
	if !found {
		w.WriteHeader(http.StatusNotFound)
		answer = metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound,
			Code: http.StatusNotFound, Message: r.URL.Path + " not found",
		}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// knownKinds are the answers by which a client finds the kinds.
func knownKinds() canned {
	group := func(gv metav1.GroupVersionForDiscovery, name string) metav1.APIGroup {
		return metav1.APIGroup{Name: name, Versions: []metav1.GroupVersionForDiscovery{gv}, PreferredVersion: gv}
	}
	core := metav1.GroupVersionForDiscovery{GroupVersion: clusterv1.GroupVersion.String(), Version: "v1beta2"}
	controlPlane := metav1.GroupVersionForDiscovery{GroupVersion: controlplanev1.GroupVersion.String(), Version: "v1beta2"}
	infrastructure := metav1.GroupVersionForDiscovery{GroupVersion: infrav1.GroupVersion.String(), Version: "v1alpha1"}
	bootstrap := metav1.GroupVersionForDiscovery{GroupVersion: bootstrapv1.GroupVersion.String(), Version: "v1beta2"}
	resource := func(plural, singular, kind string, short ...string) metav1.APIResource {
		return metav1.APIResource{Name: plural, SingularName: singular, Kind: kind, Namespaced: true, ShortNames: short, Verbs: metav1.Verbs{"get", "list", "watch", "patch", "delete"}}
	}
	c := canned{
		"/api": metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions", APIVersion: "v1"}, Versions: []string{"v1"}},
		"/apis": metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{
			group(core, clusterv1.GroupVersion.Group), group(controlPlane, controlplanev1.GroupVersion.Group),
			group(infrastructure, infrav1.GroupVersion.Group), group(bootstrap, bootstrapv1.GroupVersion.Group),
		}},
		"/api/v1": metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "secrets", SingularName: "secret", Kind: "Secret", Namespaced: true, Verbs: metav1.Verbs{"get", "list"}},
		}},
		"/apis/" + core.GroupVersion: metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: core.GroupVersion,
			APIResources: []metav1.APIResource{
				resource("clusters", "cluster", "Cluster", "cl"), resource("machines", "machine", "Machine", "ma"),
				resource("machinedeployments", "machinedeployment", "MachineDeployment", "md"), resource("machinesets", "machineset", "MachineSet", "ms"),
			},
		},
		"/apis/" + controlPlane.GroupVersion: metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: controlPlane.GroupVersion,
			APIResources: []metav1.APIResource{resource("kubeadmcontrolplanes", "kubeadmcontrolplane", "KubeadmControlPlane", "kcp")},
		},
	}
	c["/apis/"+infrastructure.GroupVersion] = metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: infrastructure.GroupVersion,
		APIResources: []metav1.APIResource{resource("simclusters", "simcluster", "SimCluster"), resource("simmachinetemplates", "simmachinetemplate", "SimMachineTemplate")},
	}
	c["/apis/"+bootstrap.GroupVersion] = metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: bootstrap.GroupVersion,
		APIResources: []metav1.APIResource{resource("kubeadmconfigtemplates", "kubeadmconfigtemplate", "KubeadmConfigTemplate")},
	}
	const namespaced = "/namespaces/default/"
	empty := map[string]string{"clusters": "ClusterList", "machines": "MachineList", "machinedeployments": "MachineDeploymentList", "machinesets": "MachineSetList"}
	for plural, kind := range empty {
		c["/apis/"+core.GroupVersion+namespaced+plural] = list(core.GroupVersion, kind)
	}
	c["/apis/"+controlPlane.GroupVersion+namespaced+"kubeadmcontrolplanes"] = list(controlPlane.GroupVersion, "KubeadmControlPlaneList")
	return c
}

func list(apiVersion, kind string, items ...any) map[string]any {
	if items == nil {
		items = []any{}
	}
	return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{}, "items": items}
}

// machineTable is a server's table with a column that only -o wide shows, and the age in the middle.
func machineTable() metav1.Table {
	row := metav1.TableRow{
		Cells:  []any{"demo-md-0-x7k2p", "True", noon.Add(-3 * time.Hour).Format(time.RFC3339), "sim://default/demo/demo-md-0-x7k2p", nil},
		Object: runtime.RawExtension{Raw: []byte(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"demo-md-0-x7k2p","namespace":"default","labels":{"b":"2","a":"1"}}}`)},
	}
	return metav1.Table{
		TypeMeta: metav1.TypeMeta{Kind: "Table", APIVersion: "meta.k8s.io/v1"},
		ColumnDefinitions: []metav1.TableColumnDefinition{
			{Name: "Name", Type: "string"}, {Name: "Ready", Type: "string"}, {Name: "Age", Type: "date"},
			{Name: "Provider ID", Type: "string", Priority: 10}, {Name: "Node Name", Type: "string"},
		},
		Rows: []metav1.TableRow{row},
	}
}

// result is what a run of the program left.
type result struct {
	code           int
	stdout, stderr string
}

// run runs the program against canned answers; nil answers means that there is no management cluster.
func run(t *testing.T, answers http.Handler, args ...string) result {
	t.Helper()
	return runUntil(t.Context(), t, answers, args...)
}

// runUntil is run with a context whose end is the user's Ctrl-C.
func runUntil(ctx context.Context, t *testing.T, answers http.Handler, args ...string) result {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "config")
	if answers != nil {
		server := httptest.NewServer(answers)
		t.Cleanup(server.Close)
		c := clientcmdapi.NewConfig()
		c.Clusters["slipway"] = &clientcmdapi.Cluster{Server: server.URL}
		c.AuthInfos["slipway"] = &clientcmdapi.AuthInfo{}
		c.Contexts["slipway"] = &clientcmdapi.Context{Cluster: "slipway", AuthInfo: "slipway"}
		c.Contexts["elsewhere"] = c.Contexts["slipway"]
		if err := clientcmd.WriteToFile(*c, kubeconfig); err != nil {
			t.Fatal(err)
		}
	}
	home := t.TempDir()
	var stdout, stderr bytes.Buffer
	code := Run(ctx, Environment{
		Args: append([]string{"slipway"}, args...), Stdin: &bytes.Buffer{}, Stdout: &stdout, Stderr: &stderr,
		Now: func() time.Time { return noon },
		Getenv: func(name string) string {
			return map[string]string{"HOME": home, "KUBECONFIG": kubeconfig}[name]
		},
	})
	stable := strings.NewReplacer(kubeconfig, "KUBECONFIG", home, "HOME")
	return result{code, stable.Replace(stdout.String()), stable.Replace(stderr.String())}
}

func (r result) String() string {
	return fmt.Sprintf("exit code %d\n--- stdout\n%s--- stderr\n%s", r.code, r.stdout, r.stderr)
}

func TestGet_PrintsServersColumns(t *testing.T) {
	t.Parallel()
	answers := knownKinds()
	const path = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/machines"
	answers[path+"?table"] = machineTable()
	answers[path] = list("cluster.x-k8s.io/v1beta2", "MachineList", map[string]any{
		"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
		"metadata": map[string]any{"name": "demo-md-0-x7k2p", "namespace": "default", "managedFields": []any{map[string]any{"manager": "x"}}},
		"spec":     map[string]any{"clusterName": "demo"},
	})
	answers["/apis/cluster.x-k8s.io/v1beta2/machines?table"] = machineTable()
	answers["/apis/controlplane.cluster.x-k8s.io/v1beta2/namespaces/default/kubeadmcontrolplanes?table"] = metav1.Table{TypeMeta: metav1.TypeMeta{Kind: "Table", APIVersion: "meta.k8s.io/v1"}}
	for name, args := range map[string][]string{
		"plain": {"get", "machines"}, "short-name": {"get", "ma"}, "wide": {"get", "machine", "-o", "wide"}, "labels": {"get", "machines", "--show-labels"},
		"all-namespaces": {"get", "machines", "-A", "--no-headers"}, "json": {"get", "machines", "-o", "json"}, "yaml": {"get", "machines", "-o", "yaml"},
		"name": {"get", "machines", "-o", "name"}, "jsonpath": {"get", "machines", "-o", "jsonpath={.items[*].spec.clusterName}"},
		"none": {"get", "clusters"}, "none-of-a-kind": {"get", "kcp"}, "no-such-kind": {"get", "machins"}, "no-such-output": {"get", "machines", "-o", "xml"},
		"bad-selector": {"get", "machines", "-l", "a=(b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden(t, filepath.Join("get", name+".txt"), []byte(run(t, answers, args...).String()))
		})
	}
}
