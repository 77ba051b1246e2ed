//go:build linux

package supervisor_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/statedir"
	"slipway.dev/slipway/internal/supervisor"
)

// ended runs a shell script as the plane, with what earlier ones left in its log, and returns why it is said to have ended.
func ended(t *testing.T, earlier, script string) string {
	t.Helper()
	dir := t.TempDir()
	if err := statedir.MakeLogDir(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(statedir.LogFile(dir), []byte(earlier), 0o600); err != nil {
		t.Fatal(err)
	}
	child, err := supervisor.Start(supervisor.Command{Path: "/bin/sh", Args: []string{"-c", script, statedir.LogFile(dir)}, StateDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for range child.Steps() {
		t.Log("a step")
	}
	known, ok := errors.AsType[*fault.Error](child.Wait())
	if !ok {
		t.Fatal("it ended well, or without an error for people")
	}
	return known.Cause
}

const (
	full    = "no space left on device"
	dead    = `{"level":"fatal","ts":1,"msg":"failed to save","error":"write wal: ` + full + `"}` + "\n"
	trouble = `{"level":"warn","ts":1,"msg":"` + full + `"}` + "\n" + `time=now level=ERROR msg="` + full + `"` + "\n"
)

func TestWait_TakesTheCauseFromThisRunsLastWords(t *testing.T) {
	t.Parallel()
	const killed, disk = "its process ended (signal: killed) without saying why", "the disk of the state directory is full"
	for name, tc := range map[string]struct{ earlier, script, want string }{
		"an earlier run died of a full disk":            {earlier: dead, script: `kill -KILL $$`, want: killed},
		"this one only complained of it":                {script: `cat >>"$0" <<'.'` + "\n" + trouble + ".\n" + `kill -KILL $$`, want: killed},
		"it died of it":                                 {earlier: "old\n", script: `cat >>"$0" <<'.'` + "\n" + dead + ".\n" + `kill -KILL $$`, want: disk},
		"it died of it after its log was rotated":       {earlier: strings.Repeat("old\n", 1000), script: `mv "$0" "$0.old"; cat >"$0" <<'.'` + "\n" + dead + ".\n" + `exit 1`, want: disk},
		"it panicked of it, and said much else after":   {script: `echo 'panic: ` + full + `' >&2; yes 'goroutine 7 [running]' | head -n 2000 >&2; exit 2`, want: disk},
		"it wrote of it outside its log and was killed": {script: `echo 'retry: ` + full + `' >&2; kill -KILL $$`, want: killed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := ended(t, tc.earlier, tc.script); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
