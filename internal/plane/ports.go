package plane

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"slipway.dev/slipway/internal/fault"
)

// Ports are drawn from below Linux's default range for outgoing connections (32768–60999), so that no client socket of
// another program can sit on a remembered port.
const (
	firstPort   = 20000
	lastPort    = 29999
	defaultPort = 6443
)

// listen opens the wanted port, or, when wanted is 0, preferred if it is free and else a free one. A wanted port that is
// taken is an *fault.Error which names its owner.
func listen(host string, wanted, preferred int) (net.Listener, error) {
	if wanted != 0 {
		ln, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(wanted)))
		if err != nil {
			return nil, cannotListen(err, host, wanted)
		}
		return ln, nil
	}
	candidates := make([]int, 0, 33)
	if preferred != 0 {
		candidates = append(candidates, preferred)
	}
	for range 32 {
		candidates = append(candidates, firstPort+rand.IntN(lastPort-firstPort+1))
	}
	var last error
	for _, port := range candidates {
		ln, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err == nil {
			return ln, nil
		}
		last = err
	}
	return nil, fault.New(last, "cannot find a free port", last.Error(), host, "slipway up --port PORT")
}

func cannotListen(err error, host string, wanted int) *fault.Error {
	cause, try := err.Error(), "slipway up with another --listen or --port"
	if errors.Is(err, syscall.EADDRINUSE) {
		cause, try = fmt.Sprintf("port %d is taken%s", wanted, portOwner(wanted)), "end that program, or: slipway up --port OTHER"
	}
	return fault.New(err, "cannot listen for the API server", cause, net.JoinHostPort(host, strconv.Itoa(wanted)), try)
}

func port(ln net.Listener) int {
	addr, ok := ln.Addr().(*net.TCPAddr)
	if !ok {
		return 0
	}
	return addr.Port
}

// portOwner says which process listens on a TCP port, as " by NAME (pid N)", or "" where that cannot be seen.
func portOwner(port int) string {
	inode, err := listenerInode(port)
	if err != nil {
		return ""
	}
	fds, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return ""
	}
	want := "socket:[" + inode + "]"
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err != nil || target != want {
			continue
		}
		pid := strings.Split(fd, "/")[2]
		name, err := os.ReadFile("/proc/" + pid + "/comm")
		if err != nil {
			continue
		}
		return fmt.Sprintf(" by %s (pid %s)", strings.TrimSpace(string(name)), pid)
	}
	return ""
}

func listenerInode(port int) (string, error) {
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		inode, err := inodeIn(file, port)
		if err == nil {
			return inode, nil
		}
	}
	return "", errors.New("no listener")
}

func inodeIn(file string, port int) (string, error) {
	const listenState = "0A"
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	suffix := fmt.Sprintf(":%04X", port)
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) > 9 && fields[3] == listenState && strings.HasSuffix(fields[1], suffix) {
			return fields[9], nil
		}
	}
	return "", errors.New("no listener")
}
