package remote

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// ServingCertificateExpiry returns when the certificate ends by which the API server on a Node of a connected cluster
// serves. It is asked there itself, by a port-forward to its Pod, since each has a certificate of its own.
func (c *Clusters) ServingCertificateExpiry(ctx context.Context, key types.NamespacedName, node string, port int32) (time.Time, error) {
	conn, err := c.connection(key)
	if err != nil {
		return time.Time{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	raw, err := conn.etcd.forward.dial(ctx, string(APIServer)+"-"+node, int(port))
	if err != nil {
		return time.Time{}, fmt.Errorf("ask the API server on Node %s for its certificate: %w", node, err)
	}
	defer func() { _ = raw.Close() }()
	session := tls.Client(raw, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // an expired one tells its date as well, and nothing is sent
	if err := session.HandshakeContext(ctx); err != nil {
		return time.Time{}, fmt.Errorf("ask the API server on Node %s for its certificate: %w", node, err)
	}
	return session.ConnectionState().PeerCertificates[0].NotAfter, nil
}
