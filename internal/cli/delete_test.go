package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// deletable answers until something is deleted, and has nothing then.
type deletable struct {
	canned
	gone atomic.Bool
}

func (d *deletable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodDelete:
		d.gone.Store(true)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess})
	case d.gone.Load() && strings.Contains(r.URL.Path, "/namespaces/default/clusters/"):
		canned{}.ServeHTTP(w, r)
	default:
		d.canned.ServeHTTP(w, r)
	}
}

func TestDelete_GoesOnWhenTheContextCannotBeForgotten(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&deletable{canned: ofCluster(t, "demo", nil)})
	t.Cleanup(server.Close)
	a, path := kubeconfigApp(t, "")
	c := clientcmdapi.NewConfig()
	c.Clusters["slipway"], c.AuthInfos["slipway"] = &clientcmdapi.Cluster{Server: server.URL}, &clientcmdapi.AuthInfo{}
	c.Contexts["slipway"] = &clientcmdapi.Context{Cluster: "slipway", AuthInfo: "slipway"}
	if err := clientcmd.WriteToFile(*c, path); err != nil {
		t.Fatal(err)
	}
	owner, err := a.clusterOwner(types.NamespacedName{Namespace: defaultNamespace, Name: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.mergeContext(admin("https://127.0.0.1:1"), owner, neverChosen); err != nil {
		t.Fatal(err)
	}
	// Another program died with the lock in its hands.
	if err := os.WriteFile(path+".lock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	env := a.env
	env.Args = strings.Fields("slipway delete cluster demo --yes --confirm demo --wait --kubeconfig " + path)
	if code := Run(t.Context(), env); code != int(exitDone) {
		t.Errorf("exit code %d", code)
	}
	out := fmt.Sprint(a.env.Stdout)
	for _, want := range []string{"warning: its context stays in " + filepath.Dir(path), "Cluster demo is gone"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
}
