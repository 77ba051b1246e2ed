package kubeconfig_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"slipway.dev/slipway/internal/kubeadm/certs"
	"slipway.dev/slipway/internal/kubeadm/kubeconfig"
)

var now = time.Date(2026, 12, 2, 8, 0, 0, 0, time.UTC)

func authority(t *testing.T) *certs.Authority {
	t.Helper()
	pair, err := certs.Generate(certs.ClusterCA, certs.Options{Algorithm: certs.ECDSAP256, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	ca, err := certs.NewAuthority(pair)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func TestAdmin_HasTheNamesThatToolsExpect(t *testing.T) {
	t.Parallel()
	text, err := kubeconfig.New(authority(t), kubeconfig.Admin("demo", "https://[fd00::10]:6443", now))
	if err != nil {
		t.Fatal(err)
	}
	c, err := clientcmd.Load(text)
	if err != nil {
		t.Fatal(err)
	}
	if c.CurrentContext != "demo-admin@demo" || c.Clusters["demo"].Server != "https://[fd00::10]:6443" || c.AuthInfos["demo-admin"] == nil {
		t.Errorf("kubeconfig:\n%s", text)
	}
	leaf, err := certs.ParseCertificates(c.AuthInfos["demo-admin"].ClientCertificateData)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(leaf[0].Subject.Organization, []string{"system:masters"}) || !leaf[0].NotAfter.Equal(now.Add(365*24*time.Hour)) {
		t.Errorf("certificate of %s until %s", leaf[0].Subject, leaf[0].NotAfter)
	}
	secret := kubeconfig.NewSecret(types.NamespacedName{Namespace: "ns", Name: "demo"}, text)
	if secret.Name != "demo-kubeconfig" || secret.Type != "cluster.x-k8s.io/secret" || secret.Labels["cluster.x-k8s.io/cluster-name"] != "demo" || len(secret.Data["value"]) == 0 {
		t.Errorf("secret %s of type %s, labels %v", secret.Name, secret.Type, secret.Labels)
	}
}

func TestNew_GivesAPersonTheirOwnNameGroupsAndTime(t *testing.T) {
	t.Parallel()
	text, err := kubeconfig.New(authority(t), kubeconfig.Request{
		Cluster: "demo", Server: "https://x:6443", User: "ada", Groups: []string{"readers"}, TTL: time.Hour, Now: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := clientcmd.Load(text)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := certs.ParseCertificates(c.AuthInfos["ada"].ClientCertificateData)
	if err != nil {
		t.Fatal(err)
	}
	if leaf[0].Subject.CommonName != "ada" || !slices.Equal(leaf[0].Subject.Organization, []string{"readers"}) || !leaf[0].NotAfter.Equal(now.Add(time.Hour)) {
		t.Errorf("certificate of %s until %s", leaf[0].Subject, leaf[0].NotAfter)
	}
}

func TestOutdated_SaysWhy(t *testing.T) {
	t.Parallel()
	ca := authority(t)
	text, err := kubeconfig.New(ca, kubeconfig.Admin("demo", "https://x:6443", now))
	if err != nil {
		t.Fatal(err)
	}
	month := 30 * 24 * time.Hour
	for _, tc := range []struct {
		name   string
		text   []byte
		server string
		ca     []byte
		at     time.Time
		want   string // empty: up to date
	}{
		{"fresh", text, "https://x:6443", ca.PEM, now, ""},
		{"more than half of its life left", text, "https://x:6443", ca.PEM, now.Add(5 * month), ""},
		{"less than half of its life left", text, "https://x:6443", ca.PEM, now.Add(7 * month), "ends on"},
		{"another server", text, "https://y:6443", ca.PEM, now, "names the server"},
		{"another CA", text, "https://x:6443", authority(t).PEM, now, "trusts another CA"},
		{"damaged", []byte("{"), "https://x:6443", ca.PEM, now, "parse kubeconfig"},
		{"empty", nil, "https://x:6443", ca.PEM, now, "missing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := kubeconfig.Outdated(tc.text, tc.server, tc.ca, tc.at)
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("reason %q, want %q", got, tc.want)
			}
		})
	}
}

// Whatever is left of the CA, and whenever it is looked at, what was made a moment ago is not made again.
func TestOutdated_NeverForWhatWasJustMade(t *testing.T) {
	t.Parallel()
	for _, left := range []time.Duration{time.Hour, 30 * 24 * time.Hour, kubeconfig.RotateBelow - time.Hour, kubeconfig.RotateBelow + time.Hour, 20 * 365 * 24 * time.Hour, -time.Hour} {
		pair, err := certs.Generate(certs.ClusterCA, certs.Options{Algorithm: certs.ECDSAP256, Now: now.Add(-365 * 24 * time.Hour), Validity: 365*24*time.Hour + left})
		if err != nil {
			t.Fatal(err)
		}
		ca, err := certs.NewAuthority(pair)
		if err != nil {
			t.Fatal(err)
		}
		text, err := kubeconfig.New(ca, kubeconfig.Admin("demo", "https://x:6443", now))
		if err != nil {
			t.Fatal(err)
		}
		if why := kubeconfig.Outdated(text, "https://x:6443", ca.PEM, now.Add(time.Second)); why != "" {
			t.Errorf("with %v left of the CA it is made again, since %s", left, why)
		}
	}
}
