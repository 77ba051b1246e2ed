package sim_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "slipway.dev/slipway/api/core/v1beta2"
	infrav1 "slipway.dev/slipway/api/infrastructure/v1alpha1"
	coreac "slipway.dev/slipway/internal/applyconfigurations/core/v1beta2"
	infraac "slipway.dev/slipway/internal/applyconfigurations/infrastructure/v1alpha1"
	"slipway.dev/slipway/internal/conditions"
	"slipway.dev/slipway/internal/planetest"
)

// elsewhere is an address that no computer has (RFC 5737).
const elsewhere = "192.0.2.1"

func on(host string, port int32) func(*infrav1.SimCluster) {
	return func(c *infrav1.SimCluster) {
		c.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: host, Port: port}
	}
}

func TestEndpoint_OnceSetStays(t *testing.T) {
	t.Parallel()
	r := started(t)
	place := r.placed()
	for name, change := range map[string]func(*infrav1.SimClusterSpec){
		"another host": func(s *infrav1.SimClusterSpec) { s.ControlPlaneEndpoint.Host = elsewhere },
		"another port": func(s *infrav1.SimClusterSpec) { s.ControlPlaneEndpoint.Port = 1 },
		"no port":      func(s *infrav1.SimClusterSpec) { s.ControlPlaneEndpoint.Port = 0 },
		"no endpoint":  func(s *infrav1.SimClusterSpec) { s.ControlPlaneEndpoint = clusterv1.APIEndpoint{} },
		"no spec":      func(s *infrav1.SimClusterSpec) { *s = infrav1.SimClusterSpec{} },
	} {
		changed := r.sim.DeepCopy()
		change(&changed.Spec)
		want := "controlPlaneEndpoint cannot be changed, since Nodes and kubeconfigs know the cluster by it: leave it as it is, or delete the Cluster"
		if err := r.Patch(t.Context(), changed, client.MergeFrom(r.sim)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nlacks %q", name, err, want)
		}
	}
	manifest := infraac.SimCluster(clusterName, r.namespace).WithSpec(infraac.SimClusterSpec())
	r.must(r.Apply(t.Context(), manifest, client.FieldOwner("kubectl")))
	manifest.Spec.WithControlPlaneEndpoint(coreac.APIEndpoint().WithHost(place.Host).WithPort(place.Port))
	for range 2 {
		r.must(r.Apply(t.Context(), manifest, client.FieldOwner("kubectl")))
	}
	r.change(r.sim, func() { r.sim.Spec.FailureDomains = []infrav1.SimFailureDomain{{Name: "a"}} })
	if got := r.placed(); got != place {
		t.Errorf("it is at %+v, not %+v", got, place)
	}
}

func TestEndpoint_MayBeChangedUntilItIsWhole(t *testing.T) {
	t.Parallel()
	r := newRig(t, on(elsewhere, 0))
	r.change(r.sim, func() { on("", 6443)(r.sim) })
	r.change(r.sim, func() { on("127.0.0.1", 0)(r.sim) })
	r.start()
	if place := r.placed(); place.Host != "127.0.0.1" {
		t.Errorf("it is at %+v", place)
	}
}

// untilUnserved waits until the SimCluster says why its endpoint is not served.
func (r *rig) untilUnserved(texts ...string) {
	r.Helper()
	r.untilCluster(func(c *infrav1.SimCluster) error {
		ready := conditions.Find(c.Status.Conditions, clusterv1.ReadyCondition)
		if ready == nil || ready.Status != metav1.ConditionFalse || ready.Reason != "EndpointNotServed" {
			return fmt.Errorf("Ready is %+v", ready)
		}
		for _, text := range texts {
			if !strings.Contains(ready.Message, text) {
				return fmt.Errorf("it says %q without %q", ready.Message, text)
			}
		}
		return nil
	})
}

// untilGone waits until the SimCluster is gone, and then nothing may be left of it.
func (r *rig) untilGone() {
	r.Helper()
	planetest.Eventually(r, func(ctx context.Context) error {
		err := r.Get(ctx, r.key(clusterName), &infrav1.SimCluster{})
		if err == nil {
			return errors.New("the SimCluster is there")
		}
		return client.IgnoreNotFound(err)
	})
	r.untilNoFiles()
}

func (r *rig) untilNoFiles() {
	r.Helper()
	planetest.Eventually(r, func(context.Context) error {
		left, err := os.ReadDir(r.dir)
		if err == nil && len(left) != 0 {
			err = fmt.Errorf("left in the directory: %v", left)
		}
		return err
	})
}

func TestEndpoint_ThatCannotBeListenedOnIsSaidAndKeepsNobodyFromDeleting(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, host string
		port       int32
		cause      string
	}{
		{"another computer's address", elsewhere, 30001, "cannot assign requested address"},
		{"no address", "::g", 30001, "no such host ::g"},
		{"a privileged port", "127.0.0.1", 1, "permission denied"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if ln, err := net.Listen("tcp", net.JoinHostPort(row.host, strconv.Itoa(int(row.port)))); err == nil {
				_ = ln.Close() // it is not needed
				t.Skip("who runs this test may listen there")
			}
			r := newRig(t, on(row.host, row.port))
			r.machine("cp", r.initData())
			r.start()
			r.untilUnserved(row.cause, row.host, "delete the Cluster and make it again")
			sim := r.until("cp", isFalse(infrav1.BootedCondition, infrav1.BootingReason))
			if got := conditions.Find(sim.Status.Conditions, infrav1.BootedCondition).Message; !strings.Contains(got, row.cause) {
				t.Errorf("the machine says %q, which lacks %q", got, row.cause)
			}
			r.must(r.Delete(t.Context(), r.sim))
			r.must(r.Delete(t.Context(), sim))
			r.untilGone()
		})
	}
}

func TestHost_ThatCannotBeListenedOnIsSaidAndCanBeMended(t *testing.T) {
	t.Parallel()
	r := started(t, on(elsewhere, 0))
	r.untilUnserved("cannot assign requested address", "spec.controlPlaneEndpoint.host")
	r.change(r.sim, func() { r.sim.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{} })
	r.placed()
	r.untilCluster(func(c *infrav1.SimCluster) error {
		if !conditions.IsTrue(c.Status.Conditions, clusterv1.ReadyCondition) {
			return fmt.Errorf("conditions: %+v", c.Status.Conditions)
		}
		return nil
	})
}
