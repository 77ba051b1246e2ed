package remote

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// The servers' ends of port-forwards linger for up to a second when the client was faster in closing.
		goleak.IgnoreTopFunction("github.com/moby/spdystream.(*Connection).shutdown"),
		// A stream that its asker gave up waits out the library's half minute. It holds memory only: its connection is closed.
		goleak.IgnoreTopFunction("github.com/moby/spdystream.(*Stream).WaitTimeout"),
	)
}
