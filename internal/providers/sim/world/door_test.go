package world

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
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

	must(f.world.Remove(f.place.Key, f.place.ID))
	ln, err := net.Listen("tcp", f.place.address())
	if err != nil {
		t.Fatalf("after the cluster was removed: %v", err)
	}
	must(ln.Close())
}

func TestEndpoint_ThatCannotBeListenedOnKeepsNobodyFromAnythingElse(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() }) // it is only in the way
	port := int32(taken.Addr().(*net.TCPAddr).Port)
	for _, row := range []struct {
		name, host string
		cause      error
	}{
		{"taken", "127.0.0.1", syscall.EADDRINUSE},
		{"another computer's", "192.0.2.1", syscall.EADDRNOTAVAIL},
		{"no address", "::g", &net.DNSError{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			f := grown(t, dir)
			if err := f.world.Close(); err != nil {
				t.Fatal(err)
			}
			f.place.Host, f.place.Port = row.host, port
			f.open(dir)
			for range 2 {
				err := f.cluster().Ail(Ailments{})
				if _, ok := errors.AsType[*ListenError](err); !ok || !errors.Is(err, row.cause) && !errors.As(err, new(*net.DNSError)) {
					t.Errorf("it says %v, want a ListenError for %v", err, row.cause)
				}
			}
			for _, step := range []error{
				f.cluster().AilMachine("w0", "", MachineAilments{Lost: true}), f.cluster().Delete("cp2", ""), f.cluster().Delete("w0", ""),
				f.world.Remove(f.place.Key, f.place.ID),
			} {
				if step != nil {
					t.Error(step)
				}
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
				t.Errorf("left are %v, %v", left, err)
			}
		})
	}
}

// What a name stands for is not its text.
func TestEndpoint_WhoseHostIsANameComesBackAfterAFault(t *testing.T) {
	t.Parallel()
	f := newFleet(t, t.TempDir())
	f.place.Host = "localhost"
	f.boot("cp-0", f.initData(bootstrapv1.KubeadmConfigSpec{}))
	for _, a := range []Ailments{{Unreachable: true}, {}} {
		if err := f.cluster().Ail(a); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.admin().Discovery().ServerVersion(); err != nil {
		t.Error(err)
	}
}
