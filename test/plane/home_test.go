package plane_test

import (
	"os"
	"strings"
	"testing"
)

func TestUp_PutsNoStateIntoTheWorkingDirectory(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	cmd := u.command(t.Context(), "up", "--detach")
	cmd.Env, cmd.Dir = append(cmd.Env, "HOME="), u.home
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--state-dir") {
		t.Errorf("without a home: %v\n%s", err, out)
	}
	if left, err := os.ReadDir(u.home); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
}
