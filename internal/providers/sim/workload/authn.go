package workload

import (
	"crypto/subtle"
	"crypto/x509"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// identity is who a request comes from.
type identity struct {
	name   string
	groups []string
}

const (
	groupMasters         = "system:masters"
	groupAuthenticated   = "system:authenticated"
	groupUnauthenticated = "system:unauthenticated"
	groupBootstrappers   = "system:bootstrappers"
	userAnonymous        = "system:anonymous"
)

var errUnauthorized = apierrors.NewUnauthorized("Unauthorized")

// connIdentity remembers what a connection's client certificate said: checking it costs more than most requests.
type connIdentity struct {
	once    sync.Once
	who     *identity
	expires time.Time
	err     error
}

// authenticate finds out who sent a request.
func (c *Cluster) authenticate(r *http.Request) (*identity, error) {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return c.authenticateToken(strings.TrimSpace(token))
	}
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return &identity{name: userAnonymous, groups: []string{groupUnauthenticated}}, nil
	}
	conn := r.Context().Value(connKey).(*connIdentity)
	conn.once.Do(func() {
		leaf := r.TLS.PeerCertificates[0]
		conn.who, conn.err = c.authenticateCertificate(leaf, r.TLS.PeerCertificates[1:])
		conn.expires = leaf.NotAfter
	})
	if conn.err == nil && c.server.now().After(conn.expires) {
		return nil, errUnauthorized
	}
	return conn.who, conn.err
}

func (c *Cluster) authenticateCertificate(leaf *x509.Certificate, chain []*x509.Certificate) (*identity, error) {
	intermediates := x509.NewCertPool()
	for _, cert := range chain {
		intermediates.AddCert(cert)
	}
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots: c.creds.Load().clients, Intermediates: intermediates, CurrentTime: c.server.now(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil || leaf.Subject.CommonName == "" {
		return nil, errUnauthorized
	}
	return &identity{
		name:   leaf.Subject.CommonName,
		groups: append(slices.Clone(leaf.Subject.Organization), groupAuthenticated),
	}, nil
}

// authenticateToken accepts bootstrap tokens: "<id>.<secret>" as in the Secret bootstrap-token-<id>.
func (c *Cluster) authenticateToken(token string) (*identity, error) {
	id, secret, ok := strings.Cut(token, ".")
	if !ok || len(id) != 6 || len(secret) != 16 {
		return nil, errUnauthorized
	}
	s, err := Read[*corev1.Secret](c.store, types.NamespacedName{Namespace: "kube-system", Name: "bootstrap-token-" + id})
	if err != nil || s.Type != corev1.SecretTypeBootstrapToken || s.DeletionTimestamp != nil {
		return nil, errUnauthorized
	}
	same := subtle.ConstantTimeCompare(s.Data["token-secret"], []byte(secret)) == 1
	if !same || string(s.Data["token-id"]) != id || !tokenInForce(s, c.server.now()) {
		return nil, errUnauthorized
	}
	return &identity{name: "system:bootstrap:" + id, groups: append(tokenGroups(s), groupAuthenticated)}, nil
}

// tokenInForce says that a bootstrap token may authenticate and has not expired.
func tokenInForce(s *corev1.Secret, now time.Time) bool {
	if string(s.Data["usage-bootstrap-authentication"]) != "true" {
		return false
	}
	text := string(s.Data["expiration"])
	if text == "" {
		return true
	}
	expires, err := time.Parse(time.RFC3339, text)
	return err == nil && now.Before(expires)
}

// tokenGroups are the groups of who comes with a bootstrap token.
func tokenGroups(s *corev1.Secret) []string {
	groups := []string{groupBootstrappers}
	for g := range strings.SplitSeq(string(s.Data["auth-extra-groups"]), ",") {
		if g = strings.TrimSpace(g); strings.HasPrefix(g, groupBootstrappers+":") && !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	return groups
}
