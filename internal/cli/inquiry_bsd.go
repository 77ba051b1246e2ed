//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package cli

import (
	"os"
	"syscall"
)

// inquiries are the signals that ask a wait what it waits for; the terminal sends the second one on Ctrl-T.
func inquiries() []os.Signal { return []os.Signal{syscall.SIGUSR1, syscall.SIGINFO} }
