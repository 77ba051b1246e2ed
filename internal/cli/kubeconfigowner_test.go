package cli

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"pgregory.net/rapid"
)

// owners want few names, so that they collide.
func owners() []entryOwner {
	return []entryOwner{
		{mark: "plane /home/ada/demo", name: "slipway-demo"},
		{mark: "plane /srv/demo", name: "slipway-demo"},
		{mark: "cluster default/demo of https://127.0.0.1:6443", name: "slipway-demo"},
		{mark: "cluster default/demo of https://127.0.0.1:20001", name: "slipway-demo"},
		{mark: "plane /home/ada/.local/share/slipway", name: "slipway"},
	}
}

func TestMerge_EachOwnerHasAContextOfItsOwnWhateverTheNames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		a, _ := testApp(t, look{})
		a.flags.kubeconfig = filepath.Join(t.TempDir(), "config")
		byUser := clientcmdapi.NewConfig()
		byUser.CurrentContext = "slipway"
		byUser.Clusters["slipway"], byUser.AuthInfos["slipway"] = clientcmdapi.NewCluster(), clientcmdapi.NewAuthInfo()
		byUser.Clusters["slipway"].Server = "https://work.example.com"
		byUser.Contexts["slipway"] = &clientcmdapi.Context{Cluster: "slipway", AuthInfo: "slipway", Namespace: "shop"}
		if err := clientcmd.WriteToFile(*byUser, a.flags.kubeconfig); err != nil {
			r.Fatal(err)
		}
		servers := map[string]string{} // by the owner's mark
		for step := range rapid.IntRange(1, 20).Draw(r, "steps") {
			owner := rapid.SampledFrom(owners()).Draw(r, "owner")
			if rapid.Bool().Draw(r, "merge") {
				server := fmt.Sprintf("https://%d.example.com", step)
				if _, err := a.mergeContext(admin(server), owner, chosenIfNone); err != nil {
					r.Fatal(err)
				}
				servers[owner.mark] = server
			} else {
				removed, err := a.removeContext(owner)
				if err != nil || (removed != "") != (servers[owner.mark] != "") {
					r.Fatalf("removed %q of %s: %v", removed, owner.mark, err)
				}
				delete(servers, owner.mark)
			}
			c, err := clientcmd.LoadFromFile(a.flags.kubeconfig)
			if err != nil {
				r.Fatal(err)
			}
			got := map[string]string{}
			for name, context := range c.Contexts {
				if name != "slipway" {
					got[markOf(c.Clusters[context.Cluster])] = c.Clusters[context.Cluster].Server
				}
			}
			if diff := cmp.Diff(servers, got); diff != "" {
				r.Fatalf("contexts by owner (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(byUser.Clusters["slipway"], c.Clusters["slipway"], cmpopts.IgnoreFields(clientcmdapi.Cluster{}, "LocationOfOrigin", "Extensions")); diff != "" || c.CurrentContext != "slipway" {
				r.Fatalf("the user's own context changed, or is not selected (%s): %s", c.CurrentContext, diff)
			}
		}
	})
}

func TestMerge_TakesOverAnEntryWithoutANoteThatLeadsToTheSameServerAndNoOther(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		title, server, ca string
		want              string
	}{
		{"the same server", "https://127.0.0.1:6443", "", "slipway-demo"},
		{"the same CA at another port", "https://127.0.0.1:20000", "ca", "slipway-demo"},
		{"another server", "https://127.0.0.1:30000", "another ca", "slipway-demo-8dc80b"},
	} {
		t.Run(c.title, func(t *testing.T) {
			t.Parallel()
			a, path := kubeconfigApp(t, "")
			before := clientcmdapi.NewConfig()
			before.Clusters["slipway-demo"] = &clientcmdapi.Cluster{Server: c.server, CertificateAuthorityData: []byte(c.ca)}
			before.AuthInfos["slipway-demo"] = &clientcmdapi.AuthInfo{Token: "old"}
			before.Contexts["slipway-demo"] = &clientcmdapi.Context{Cluster: "slipway-demo", AuthInfo: "slipway-demo"}
			if err := clientcmd.WriteToFile(*before, path); err != nil {
				t.Fatal(err)
			}
			from := admin("https://127.0.0.1:6443")
			from.Clusters["x"].CertificateAuthorityData = []byte("ca")
			m, err := a.mergeContext(from, owners()[0], chosenIfNone)
			if err != nil || m.name != c.want {
				t.Errorf("context %q, %v, want %q", m.name, err, c.want)
			}
			if removed, err := a.removeContext(owners()[1]); err != nil || removed != "" {
				t.Errorf("removed another's context %q: %v", removed, err)
			}
		})
	}
}
