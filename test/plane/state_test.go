//go:build linux

package plane_test

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"slipway.dev/slipway/internal/statedir"
)

const nobody = 65534

// asNobody runs look on a thread whose file access is that of another user; the thread ends with it.
func asNobody(look func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // Never unlocked: the thread is of no use to others.
		// The kernel answers with what was set before, never with an error.
		_ = syscall.Setfsgid(nobody)
		_ = syscall.Setfsuid(nobody)
		look()
	}()
	<-done
}

func TestState_IsForItsOwnerAloneWhateverTheUmask(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	u := newUser(t)
	u.through = []string{"sh", "-c", `umask 0; exec "$0" "$@"`}
	u.up()
	if r := u.slipway("create", "cluster", "demo", "--provider", "sim", "--workers", "1", "--wait"); r.code != 0 {
		t.Fatal(r.stderr)
	}
	var files, dirs []string
	err := filepath.WalkDir(u.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // It went while we walked.
		}
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
			dirs = append(dirs, path)
		} else {
			files = append(files, path)
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	u.openParents()
	if len(files) < 15 {
		t.Errorf("only %d files", len(files))
	}
	asNobody(func() {
		if _, err := os.Stat(u.dir); err != nil {
			t.Errorf("the test shows nothing, since another user does not even get there: %v", err)
		}
		for _, path := range files {
			if f, err := os.Open(path); err == nil {
				_ = f.Close()
				t.Errorf("another user reads %s", path)
			}
			if c, err := net.Dial("unix", path); err == nil {
				_ = c.Close()
				t.Errorf("another user reaches %s", path)
			}
		}
		for _, path := range dirs {
			if _, err := os.ReadDir(path); err == nil {
				t.Errorf("another user lists %s", path)
			}
		}
	})
}

// openParents lets everybody get as far as the state directory, so that nothing but the state itself keeps them out.
func (u *user) openParents() {
	u.t.Helper()
	for dir := filepath.Dir(u.dir); dir != filepath.Clean(os.TempDir()); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // That is the point.
			u.t.Fatal(err)
		}
	}
}

func TestUp_RefusesAnothersState(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	u := newUser(t)
	u.up()
	u.slipway("down")
	before := contents(t, u.dir)
	u.openParents()
	u.through = []string{"setpriv", "--reuid", fmt.Sprint(nobody), "--regid", fmt.Sprint(nobody), "--clear-groups"}
	text := u.refused("up", "--detach")
	if !strings.Contains(text, "permission denied") {
		t.Error(text)
	}
	sameContents(t, before, contents(t, u.dir))
}

func TestUp_RefusesABrokenStoreAndChangesNothing(t *testing.T) { //nolint:tparallel // One store is broken in turn.
	t.Parallel()
	u := newUser(t)
	u.up()
	u.slipway("down")
	whole := contents(t, u.dir)
	db := filepath.Join("etcd", "member", "snap", "db")
	wals, err := filepath.Glob(filepath.Join(u.dir, "etcd", "member", "wal", "*.wal"))
	if err != nil || len(wals) == 0 {
		t.Fatalf("no write-ahead log: %v", err)
	}
	wal := strings.TrimPrefix(wals[len(wals)-1], u.dir+"/")
	for name, breakIt := range map[string]func(){
		"a store cut short":     func() { u.edit(db, func(b []byte) []byte { return b[:64<<10] }) },
		"a store cut to a page": func() { u.edit(db, func(b []byte) []byte { return b[:4096] }) },
		"an empty store":        func() { u.edit(db, func([]byte) []byte { return nil }) },
		"a store of garbage":    func() { u.edit(db, func(b []byte) []byte { return bytes.Repeat([]byte("garbage!"), len(b)/8) }) },
		"garbage in the middle of the log": func() {
			u.edit(wal, func(b []byte) []byte { copy(b[4096:], bytes.Repeat([]byte{0xa5}, 4096)); return b })
		},
		"garbage at the end of the log": func() {
			u.edit(wal, func(b []byte) []byte {
				end := len(bytes.TrimRight(b, "\x00"))
				copy(b[end-64:], bytes.Repeat([]byte{0xa5}, 256))
				return b
			})
		},
		"a certificate authority that is none": func() { u.edit("pki/ca.crt", func([]byte) []byte { return []byte("x") }) },
	} {
		t.Run(name, func(t *testing.T) {
			u := &user{t: t, binary: u.binary, home: u.home, dir: u.dir}
			t.Cleanup(func() {
				u.kill()
				u.putBack(whole)
			})
			breakIt()
			broken := contents(t, u.dir)
			text := u.refused("up", "--detach")
			t.Log(text)
			if strings.Contains(text, "without saying why") {
				t.Error("it does not say why")
			}
			after := contents(t, u.dir)
			if broken["/"+wal] != whole["/"+wal] {
				// etcd opens its file, and writes its own notes into it, before it reads the log: with the log mended, all is well.
				delete(broken, "/"+db)
				delete(after, "/"+db)
				u.edit(wal, func([]byte) []byte { return []byte(whole["/"+wal]) })
				defer u.up()
			}
			sameContents(t, broken, after)
		})
	}
	u.up()
}

// edit changes a file of the state.
func (u *user) edit(name string, change func([]byte) []byte) {
	u.t.Helper()
	path := filepath.Join(u.dir, name)
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, change(b), 0o600)
	}
	if err != nil {
		u.t.Fatal(err)
	}
}

// putBack makes a state what it was.
func (u *user) putBack(files map[string]string) {
	u.t.Helper()
	for path := range contents(u.t, u.dir) {
		if err := os.Remove(u.dir + path); err != nil {
			u.t.Fatal(err)
		}
	}
	for path, content := range files {
		if err := os.WriteFile(u.dir+path, []byte(content), 0o600); err != nil {
			u.t.Fatal(err)
		}
	}
}

func TestUp_RefusesAClockThatWasSetBack(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.up()
	u.slipway("down")
	u.edit("pki/ca.crt", func([]byte) []byte { return u.authority(time.Now().Add(48 * time.Hour)) })
	before := contents(t, u.dir)
	if text := u.refused("up", "--detach"); !strings.Contains(text, "clock") {
		t.Error(text)
	}
	sameContents(t, before, contents(t, u.dir))
}

// authority makes the plane's own CA anew, valid from another time.
func (u *user) authority(from time.Time) []byte {
	u.t.Helper()
	b, err := os.ReadFile(filepath.Join(u.dir, "pki", "ca.key"))
	if err != nil {
		u.t.Fatal(err)
	}
	block, _ := pem.Decode(b)
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		u.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "slipway-plane-ca"}, NotBefore: from, NotAfter: from.Add(time.Hour),
		KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		u.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestUp_GoesOnWhenItsFirstStartWasKilledAnywhere(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	for _, stage := range []struct {
		after string
		more  time.Duration
	}{
		{"", 5 * time.Millisecond}, {"", 40 * time.Millisecond}, {"storage", 0}, {"storage", 100 * time.Millisecond}, {"etcd", 0}, {"etcd", 300 * time.Millisecond},
		{"API server", 0}, {"API server", 100 * time.Millisecond}, {"API server", 400 * time.Millisecond}, {"kinds", 0}, {"controllers", 0},
	} {
		u.killAfter(stage.after, stage.more)
	}
	u.up()
	if r := u.slipway("create", "cluster", "demo", "--provider", "sim", "--wait"); r.code != 0 {
		t.Errorf("exit code %d\n%s", r.code, r.stderr)
	}
	left, err := filepath.Glob(filepath.Join(u.dir, "pki", ".*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Logf("left behind: %v", left)
	}
}

// killAfter starts a plane and kills it some time after it has told of a step.
func (u *user) killAfter(step string, more time.Duration) {
	u.t.Helper()
	cmd := u.command(u.t.Context(), "up")
	talk, err := cmd.StderrPipe()
	if err != nil {
		u.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		u.t.Fatal(err)
	}
	readUntil(u.t, talk, step)
	wait(u.t, more)
	u.kill()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	u.kill()
}

func TestUp_SaysThatTheDiskIsFullAndGoesOnWhenItIsNot(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	u := newUser(t)
	disk := filepath.Join(u.home, "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=800m,mode=0700"); err != nil {
		t.Skipf("no tmpfs here: %v", err)
	}
	u.dir = filepath.Join(disk, "state")
	t.Cleanup(func() {
		u.kill()
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	up := u.command(t.Context(), "up", "--state-dir", u.dir)
	var talk bytes.Buffer
	up.Stderr = &talk
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- up.Wait() }()
	for begun := time.Now(); ; wait(t, 100*time.Millisecond) {
		if _, state, message := u.status("--state-dir", u.dir); state == "Ready" {
			break
		} else if time.Since(begun) > patience {
			t.Fatalf("%s: %s", state, message)
		}
	}
	acknowledged := u.writeWhile(disk, ended)
	checkFourParts(t, talk.String())
	if !strings.Contains(talk.String(), "disk of the state directory is full") {
		t.Error(talk.String())
	}
	if text := u.refused("up", "--detach", "--state-dir", u.dir); !strings.Contains(text, "free") {
		t.Error(text)
	}
	if err := os.Remove(filepath.Join(disk, "filling")); err != nil {
		t.Fatal(err)
	}
	u.up("--state-dir", u.dir)
	r := u.slipway("get", "clusters", "-o", "name", "--kubeconfig", statedir.AdminKubeconfig(u.dir))
	for _, name := range acknowledged {
		if !strings.Contains(r.stdout, "/"+name+"\n") {
			t.Errorf("%s was acknowledged and is lost", name)
		}
	}
	t.Logf("%d writes were acknowledged", len(acknowledged))
}

// writeWhile fills a disk while it makes clusters, until the plane has ended, and returns those that were acknowledged. It
// waits for creation to be held before it fills what is left.
func (u *user) writeWhile(disk string, ended <-chan error) (acknowledged []string) {
	u.t.Helper()
	f, err := os.OpenFile(filepath.Join(disk, "filling"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		u.t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 64<<20)
	held := false
	defer func() {
		if !held {
			u.t.Error("no creation was held before the disk was full")
		}
	}()
	for i := 0; ; i++ {
		select {
		case err := <-ended:
			if err == nil {
				u.t.Error("the plane ended as if all were well")
			}
			return acknowledged
		default:
		}
		name := fmt.Sprintf("c%d", i)
		r := u.slipway("create", "cluster", name, "--provider", "sim", "--kubeconfig", statedir.AdminKubeconfig(u.dir))
		if r.code == 0 {
			acknowledged = append(acknowledged, name)
		}
		held = held || strings.Contains(r.stderr, "disk has less than 500 MiB free")
		if free, err := statedir.FreeBytes(disk); err == nil && (held || free >= statedir.MinFree) {
			_, _ = f.Write(block) // That it fails in the end is what is wanted.
		}
		if i > 100 {
			u.t.Fatal("the plane lives on a full disk")
		}
	}
}
