//go:build !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package cli

import (
	"os"
	"syscall"
)

// inquiries are the signals that ask a wait what it waits for.
func inquiries() []os.Signal { return []os.Signal{syscall.SIGUSR1} }
