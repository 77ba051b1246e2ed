package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// openTerminal makes a pseudo-terminal of a size and returns the side of the screen and the side of the program.
func openTerminal(t *testing.T, columns, rows uint16) (screen, program *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here:", err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	resize(t, screen, columns, rows)
	return screen, program
}

func resize(t *testing.T, screen *os.File, columns, rows uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows}); err != nil {
		t.Fatal(err)
	}
}

// framesOf are the screens that were drawn one over the other, without colour.
func framesOf(bytes string) []string {
	styles, redraw := regexp.MustCompile(`\x1b\[[0-9;]*m`), regexp.MustCompile(`\x1b\[\d+A\x1b\[J`)
	return redraw.Split(strings.ReplaceAll(styles.ReplaceAllString(bytes, ""), "\r\n", "\n"), -1)
}

// watchOnTerminal runs a command on a terminal until it ends, or is interrupted after a while, and returns what it drew.
func (h home) watchOnTerminal(t *testing.T, columns, rows uint16, interruptAfter time.Duration, args ...string) (int, string) {
	t.Helper()
	screen, terminal := openTerminal(t, columns, rows)
	ctx, cancel := context.WithTimeout(t.Context(), interruptAfter)
	defer cancel()
	cmd := exec.CommandContext(ctx, "slipway", args...)
	cmd.Dir, cmd.Env = h.dir, append(h.env(), "TERM=xterm")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = slow
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	drawn := make(chan string, 1)
	go func() {
		var all strings.Builder
		buffer := make([]byte, 64*1024)
		for {
			n, err := screen.Read(buffer)
			all.Write(buffer[:n])
			if err != nil {
				drawn <- all.String()
				return
			}
		}
	}()
	// How it ended is told by its exit code.
	_ = cmd.Wait()
	// The last open side of the program closes the screen.
	_ = terminal.Close()
	return cmd.ProcessState.ExitCode(), <-drawn
}

func TestTerminal_RedrawsWithinItsSize(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	if code, out := h.run(t, "slipway up --detach", 0); code != 0 {
		t.Fatalf("up: exit code %d\n%s", code, out)
	}
	for _, size := range []struct{ columns, rows uint16 }{{80, 24}, {40, 10}} {
		name := fmt.Sprintf("wide-%d", size.columns)
		code, drawn := h.watchOnTerminal(t, size.columns, size.rows, slow, "create", "cluster", name, "--workers", "3", "--wait")
		if code != 0 || !strings.Contains(drawn, "Cluster "+name+" is Ready in ") {
			t.Fatalf("exit code %d\n%s", code, drawn)
		}
		frames := framesOf(drawn)
		if len(frames) < 3 {
			t.Errorf("%d columns: nothing was redrawn: %q", size.columns, drawn)
		}
		// The first frame follows lines that scroll up; the last is what stays when the region is gone.
		for _, frame := range frames[1 : len(frames)-1] {
			checkFrame(t, frame, int(size.columns), int(size.rows))
		}
	}
	code, drawn := h.watchOnTerminal(t, 80, 24, 2*time.Second, "tree", "wide-80", "-w")
	if code != int(exitInterrupted) || !strings.Contains(drawn, "KubeadmControlPlane/wide-80-cp") || !strings.HasSuffix(drawn, "\r\n") {
		t.Errorf("Ctrl-C: exit code %d\n%q", code, drawn)
	}
}

func checkFrame(t *testing.T, frame string, columns, rows int) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(frame, "\n"), "\n")
	if len(lines) >= rows {
		t.Errorf("%d lines on a screen of %d:\n%s", len(lines), rows, frame)
	}
	for _, line := range lines {
		if utf8.RuneCountInString(line) > columns {
			t.Errorf("a line of %d columns on a screen of %d: %s", utf8.RuneCountInString(line), columns, line)
		}
	}
}
