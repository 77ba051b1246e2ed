package remote

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// The servers' ends of port-forwards linger for up to a second when the client was faster in closing.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/moby/spdystream.(*Connection).shutdown"))
}
