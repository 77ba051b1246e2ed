package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"slipway.dev/slipway/internal/statedir"
)

// fakePlane makes a home whose plane is a script of shell. It writes to its supervisor on file descriptor 3; its parent is
// slipway up.
func fakePlane(t *testing.T, script string) home {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "plane.sh")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return home{dir, path}
}

// What a fake plane does.
const (
	firstStep       = `echo '{"step":{"name":"storage","detail":"here"}}' >&3` + "\n"
	readyStep       = `echo '{"step":{"name":"ready"}}' >&3` + "\n"
	interruptParent = "kill -INT $PPID\n"
	stayThere       = "while :; do sleep 5 3>&- & wait; done\n"
	brokenPlane     = `{"error":{"what":"cannot stop in order","cause":"the disk is gone"}}` + "\n"
)

func TestUp_InterruptedTellsWhetherItWasReady(t *testing.T) {
	t.Parallel()
	const begin, interrupt, stay = firstStep, interruptParent, stayThere
	rows := []struct {
		name, script string
		code         exitCode
		says         string
	}{
		{name: "after the first step", script: "trap 'exit 0' TERM\n" + begin + interrupt + stay, code: exitInterrupted, says: "The plane is down"},
		{name: "before the first step", script: interrupt + stay, code: exitInterrupted, says: "The plane is down"},
		{name: "ready after all", script: `trap 'echo "{\"step\":{\"name\":\"ready\"}}" >&3; exit 0' TERM` + "\n" + begin + interrupt + stay, code: exitInterrupted, says: "The plane is down"},
		{name: "with a fault", script: "trap 'cat fault >&3; exit 1' TERM\n" + begin + interrupt + stay, code: exitInterrupted, says: "the disk is gone"},
		{name: "with a fault in the words of none", script: `trap 'echo "{\"error\":{\"what\":\"it broke\",\"cause\":\"the disk went without saying why\"}}" >&3; exit 1' TERM` + "\n" + begin + interrupt + stay, code: exitInterrupted, says: "the disk went"},
		{name: "torn apart", script: "trap 'exit 255' TERM\n" + begin + interrupt + stay, code: exitInterrupted, says: "The plane is down"},
		{name: "twice", script: "trap '" + strings.TrimSpace(interrupt) + "' TERM\n" + begin + interrupt + stay, code: exitInterrupted, says: "Killing the plane"},
	}
	for _, r := range rows {
		for _, how := range []string{"", " --detach"} {
			t.Run(r.name+how, func(t *testing.T) {
				t.Parallel()
				h := fakePlane(t, r.script)
				if err := os.WriteFile(filepath.Join(h.dir, "fault"), []byte(brokenPlane), 0o600); err != nil {
					t.Fatal(err)
				}
				code, out := h.run(t, "slipway up"+how, 0)
				if code != int(r.code) || !strings.Contains(out, r.says) || strings.Contains(out, "Ready in") || strings.Contains(out, "error:") != strings.HasPrefix(r.name, "with a fault") {
					t.Errorf("exit code %d, want %d:\n%s", code, r.code, out)
				}
			})
		}
	}
}

func TestUp_StoppedWhenReadyFailsOnlyIfItsPlaneDoes(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		name, atEnd string
		code        exitCode
		says        string
	}{
		{name: "in order", atEnd: "exit 0", code: exitDone, says: "The plane is down"},
		{name: "with a fault", atEnd: "cat fault >&3; exit 1", code: exitFailed, says: "the disk is gone"},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			h := fakePlane(t, "trap '"+r.atEnd+"' TERM\ncp admin "+statedir.AdminKubeconfig(".local/share/slipway")+"\n"+readyStep+"until test -f .kube/config; do :; done\n"+interruptParent+stayThere)
			err := errors.Join(clientcmd.WriteToFile(*admin("https://127.0.0.1:6443"), filepath.Join(h.dir, "admin")),
				os.WriteFile(filepath.Join(h.dir, "fault"), []byte(brokenPlane), 0o600))
			if err != nil {
				t.Fatal(err)
			}
			code, out := h.run(t, "slipway up", 0)
			if code != int(r.code) || !strings.Contains(out, r.says) || !strings.Contains(out, "Ready in") {
				t.Errorf("exit code %d, want %d:\n%s", code, r.code, out)
			}
		})
	}
}

func TestPlane_IsAtFaultWhenMoreThanItsStartWasEnded(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk full")
	for _, r := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{context.Canceled, true},
		{fmt.Errorf("cannot start the store: %w", context.Canceled), true},
		{errors.Join(fmt.Errorf("start: %w", context.Canceled)), true},
		{fmt.Errorf("install kinds: %w", &url.Error{Op: "Get", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}), true},
		{errors.Join(context.Canceled, broken), false},
		{fmt.Errorf("stop: %w", errors.Join(context.Canceled, broken)), false},
		{broken, false},
	} {
		if got := isTornDown(r.err); got != r.want {
			t.Errorf("%v comes of a start that was ended: %t, want %t", r.err, got, r.want)
		}
	}
}
