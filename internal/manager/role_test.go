package manager_test

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	"slipway.dev/slipway/internal/manager"
	"slipway.dev/slipway/internal/planetest"
	"slipway.dev/slipway/test/fleet"
)

func TestMain(m *testing.M) { os.Exit(planetest.Main(m)) }

func TestRole_SufficesForTheWholeLifeOfACluster(t *testing.T) {
	t.Parallel()
	c, namespace := planetest.Client(t), planetest.Namespace(t)
	refusals := &refusals{}
	cfg := rest.CopyConfig(planetest.Config(t))
	cfg.Impersonate.UserName = "controllers-of-" + namespace
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return watched{next, refusals} })
	bind(t, cfg.Impersonate.UserName, namespace)
	planetest.ManagerFor(t, cfg, namespace, func(mgr ctrl.Manager) error {
		_, err := manager.AddControllers(t.Context(), mgr, manager.Options{StateDir: t.TempDir()})
		return err
	})
	spec := fleet.Spec{Namespace: namespace, Name: "demo", Version: "v1.36.0", ControlPlane: 3, Workers: 2, ECDSA: true}
	if err := spec.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	up := func(ctx context.Context) error { return spec.Up(ctx, c) }
	planetest.Eventually(t, up)
	workers := &clusterv1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo-md-0"}}
	planetest.Change(t, c, workers, func() { workers.Spec.Template.Spec.Version = "v1.36.1" })
	planetest.Eventually(t, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(workers), workers); err != nil || workers.Status.ObservedGeneration < workers.Generation {
			return cmp.Or(err, errors.New("the change is not observed"))
		}
		return up(ctx)
	})
	if err := c.Delete(t.Context(), &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo"}}); err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, func(ctx context.Context) error { return fleet.Gone(ctx, c, namespace) })
	if said := refusals.all(); len(said) > 0 {
		t.Errorf("the role lacks: %v", said)
	}
}

// bind gives a user the role that stands in config/rbac, in all namespaces, until the test ends.
func bind(t *testing.T, user, name string) {
	t.Helper()
	raw, err := os.ReadFile("../../config/rbac/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(raw, role); err != nil {
		t.Fatal(err)
	}
	role.Name = name
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	for _, obj := range []client.Object{role, binding} {
		if err := planetest.Client(t).Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
}

// refusals are the requests that the plane forbade.
type refusals struct {
	mu   sync.Mutex // guards said
	said []string
}

func (r *refusals) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.said)
	return slices.Compact(r.said)
}

type watched struct {
	next http.RoundTripper
	*refusals
}

// RoundTrip notes what is forbidden.
func (w watched) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := w.next.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusForbidden {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.said = append(w.said, r.Method+" "+r.URL.Path)
	}
	return response, err
}
