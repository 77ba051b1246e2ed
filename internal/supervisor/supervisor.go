// Package supervisor runs the management plane as a child process and tells what becomes of it.
//
// etcd ends its own process on fatal errors, so the plane cannot live in the process that talks to the user. The child
// writes one JSON message a line to file descriptor 3; when it ends without having said why, its log tells.
package supervisor

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"time"

	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/statedir"
)

// reportFD is the child's file descriptor for messages: the first of exec.Cmd.ExtraFiles.
const reportFD = 3

// Step is one step of the plane's start, or a later notice.
type Step struct {
	// Name is a stable short word: storage, etcd, api, kinds, controllers, ready, credentials, warning.
	Name string `json:"name"`
	// Detail is for people, such as an address or a count.
	Detail string `json:"detail,omitempty"`
	// Took is the time that the step needed.
	Took time.Duration `json:"took,omitempty"`
}

// message is what the child writes: one of the fields is set.
type message struct {
	Step  *Step        `json:"step,omitempty"`
	Error *fault.Error `json:"error,omitempty"`
}

// Reporter is the child's side.
type Reporter struct{ out io.Writer }

// NewReporter writes to the supervisor, or to nobody when the process was not started by one.
func NewReporter() *Reporter {
	if os.Getenv(childEnv) == "" {
		return &Reporter{out: io.Discard}
	}
	return &Reporter{out: os.NewFile(reportFD, "supervisor")}
}

// Step tells the supervisor about a step.
func (r *Reporter) Step(s Step) { r.write(message{Step: &s}) }

// Fail tells the supervisor why the plane ends.
func (r *Reporter) Fail(err *fault.Error) { r.write(message{Error: err}) }

func (r *Reporter) write(m message) {
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // A struct of strings always encodes.
	}
	// A supervisor that has gone is no reason for the plane to end: --detach lets go of it on purpose.
	_, _ = r.out.Write(append(b, '\n'))
}

const childEnv = "SLIPWAY_PLANE_CHILD"

// Command says how to start the child.
type Command struct {
	// Path and Args are the program and its arguments, without the program's name.
	Path string
	Args []string
	// StateDir is where the child's log lies.
	StateDir string
	// Detach lets the child outlive this process: it gets a session of its own.
	Detach bool
}

// Child is a running plane.
type Child struct {
	cmd      *exec.Cmd
	command  Command
	steps    chan Step
	reported *fault.Error
	// earlier is the log as it was before this start, nil when there was none: what runs before this one said is no cause of
	// its end.
	earlier fs.FileInfo
}

// Start starts the plane. Read Steps until it closes, then call Wait.
func Start(c Command) (*Child, error) {
	log, err := openCrashFile(c.StateDir)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	// That there is none yet is as good as an empty one.
	earlier, _ := os.Stat(statedir.LogFile(c.StateDir))
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{w}
	// The terminal's Ctrl-C reaches the whole process group; the supervisor alone decides what it means.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: c.Detach, Setpgid: !c.Detach}
	if !c.Detach {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the plane's process: %w", err), r.Close(), w.Close())
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	child := &Child{cmd: cmd, command: c, steps: make(chan Step, 16), earlier: earlier}
	go child.read(r)
	return child, nil
}

// openCrashFile opens what the child writes to its standard streams: panics and fatal errors. Its log it writes itself.
func openCrashFile(stateDir string) (*os.File, error) {
	if err := statedir.MakeLogDir(stateDir); err != nil {
		return nil, err
	}
	return os.OpenFile(statedir.CrashFile(stateDir), os.O_CREATE|os.O_TRUNC|os.O_APPEND|os.O_WRONLY, 0o600)
}

func (c *Child) read(r io.ReadCloser) {
	defer close(c.steps)
	defer r.Close()
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var m message
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			continue
		}
		if m.Error != nil {
			c.reported = m.Error
		}
		if m.Step != nil {
			c.steps <- *m.Step
		}
	}
}

// Steps delivers what the plane reports and closes when the plane has ended.
func (c *Child) Steps() <-chan Step { return c.steps }

// PID is the process id of the plane.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Stop asks the plane to stop in order.
func (c *Child) Stop() error { return c.cmd.Process.Signal(syscall.SIGTERM) }

// Kill ends the plane at once; its state survives that.
func (c *Child) Kill() error { return c.cmd.Process.Kill() }

// Release lets go of a detached child.
func (c *Child) Release() error { return c.cmd.Process.Release() }

// Wait returns nil when the plane has stopped in order, else a *fault.Error. Call it after Steps has closed.
func (c *Child) Wait() error {
	err := c.cmd.Wait()
	if c.reported != nil {
		return c.reported
	}
	if err == nil {
		return nil
	}
	said := logSince(statedir.LogFile(c.command.StateDir), c.earlier) + crash(statedir.CrashFile(c.command.StateDir))
	return statedir.Diagnose(statedir.FatalLines(said), c.command.StateDir, err.Error())
}

// logSince returns the last 16 KiB of a log, or nothing when it cannot be read. What it held already as earlier, it leaves out;
// a file that was rotated since is all new.
func logSince(path string, earlier fs.FileInfo) string {
	const size = 16 << 10
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return ""
	}
	begin := max(0, st.Size()-size)
	if earlier != nil && os.SameFile(earlier, st) {
		begin = max(begin, earlier.Size())
	}
	b, err := io.ReadAll(io.NewSectionReader(f, begin, size))
	if err != nil {
		return ""
	}
	return string(b)
}

// crash returns the first MiB of what the child wrote outside its log, or nothing when it cannot be read. Its cause stands
// before what all goroutines were doing.
func crash(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return ""
	}
	return string(b)
}
