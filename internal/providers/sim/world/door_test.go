package world

import (
	"crypto/tls"
	"errors"
	"net"
	"syscall"
	"testing"

	bootstrapv1 "slipway.dev/slipway/api/kubeadm/bootstrap/v1beta2"
)

// A port that another program got before the first machine has booted could never be had again: the Cluster's endpoint stays.
func TestEndpoint_IsHeldFromItsChoiceToTheRemovalOfTheCluster(t *testing.T) {
	t.Parallel()
	f := newFleet(t, t.TempDir())
	held := func(when string) {
		t.Helper()
		if ln, err := net.Listen("tcp", f.place.address()); err == nil {
			_ = ln.Close() // it should not have been
			t.Errorf("%s: another program can have the port", when)
		} else if !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("%s: %v", when, err)
		}
	}
	turnedAway := func(when string) {
		t.Helper()
		conn, err := tls.Dial("tcp", f.place.address(), &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // Nobody shall be there.
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: %v, %v, want a reset", when, conn, err)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	must(f.world.Reserve(f.place))
	held("before the first machine")
	turnedAway("before the first machine")
	stranger := f.place
	stranger.Key.Name = "stranger"
	if err := f.world.Reserve(stranger); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("reserved for two clusters: %v", err)
	}
	f.world.Release(stranger)
	held("after another's release")

	f.boot("cp-0", f.initData(bootstrapv1.KubeadmConfigSpec{}))
	must(f.cluster().Ail(Ailments{Unreachable: true}))
	held("while it is unreachable")
	turnedAway("while it is unreachable")
	must(f.cluster().Ail(Ailments{}))
	if _, err := f.admin().Discovery().ServerVersion(); err != nil {
		t.Errorf("reachable again: %v", err)
	}

	must(f.world.Remove(f.place))
	ln, err := net.Listen("tcp", f.place.address())
	if err != nil {
		t.Fatalf("after the cluster was removed: %v", err)
	}
	must(ln.Close())
}
