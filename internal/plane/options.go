package plane

import (
	"context"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

// Options say where a plane keeps its state and how it is reached.
type Options struct {
	// StateDir is the directory that holds everything. It is made with mode 0700 when missing.
	StateDir string
	// Listen is the address the API server binds. Empty means 127.0.0.1.
	Listen string
	// Port is the API server's port. 0 means the remembered one or, the first time, 6443 if free, else a free one
	// outside the system's range for outgoing connections.
	Port int
	// From is a backup to restore into an empty StateDir before the start. Empty restores nothing.
	From string
	// Log takes etcd's own log. Nil discards it.
	Log io.Writer
	// Version is this Slipway's version. A state written by a newer one is refused.
	Version string
	// Start is called when the API server answers. It starts what lives beside it (controllers, webhooks), returns once
	// that is ready, and sends on the channel when it has ended, which it does when ctx ends. Nil starts nothing.
	Start func(ctx context.Context, api API) (ended <-chan error, err error)
	// Report is called with each step of the start, and again when the credentials were renewed. Nil reports nothing.
	Report func(Step)
	// Metrics are served at /metrics beside the API server's own.
	Metrics http.Handler
}

// API is what Options.Start gets to work with.
type API struct {
	// Config reaches the API server with all rights.
	Config *rest.Config
	// WebhookHost is the loopback address for webhooks.
	WebhookHost string
	// WebhookPort is the port on WebhookHost.
	WebhookPort int
	// CertDir holds tls.crt and tls.key for WebhookHost.
	CertDir string
	// CABundle is the PEM of the CA that signed them.
	CABundle []byte
	// StateDir is Options.StateDir, for providers that keep files beside etcd.
	StateDir string
}

// Step is one step of the start: what it is, a detail worth a line, and how long it took.
type Step struct {
	// Name is a stable short word: storage, etcd, api, kinds, controllers, ready, credentials, warning.
	Name string `json:"name"`
	// Detail is for people, such as an address or a count.
	Detail string `json:"detail,omitempty"`
	// Took is the time that the step needed.
	Took time.Duration `json:"took,omitempty"`
}

func (o *Options) report(name, detail string, since time.Time) {
	if o.Report != nil {
		o.Report(Step{Name: name, Detail: detail, Took: time.Since(since)})
	}
}
