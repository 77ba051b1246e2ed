// Package token makes kubeadm's bootstrap tokens, the Secrets that stand for them in a cluster, and the decision when
// to prolong or replace one.
package token

import (
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
)

const (
	// DefaultTTL is how long a token lives unless prolonged.
	DefaultTTL = 15 * time.Minute
	// DefaultGroup is what the bearer of a token belongs to; kubeadm binds what a joining machine may do to it.
	DefaultGroup = "system:bootstrappers:kubeadm:default-node-token"

	idLength, secretLength = 6, 16
	alphabet               = "0123456789abcdefghijklmnopqrstuvwxyz"
)

var wellFormed = regexp.MustCompile(bootstrapapi.BootstrapTokenPattern)

// Token is a bootstrap token: an ID that may be seen, and a secret that may not.
type Token struct {
	ID, Secret string
}

// New draws a token.
func New() (Token, error) {
	text, err := draw(idLength + secretLength)
	if err != nil {
		return Token{}, fmt.Errorf("draw bootstrap token: %w", err)
	}
	return Token{ID: text[:idLength], Secret: text[idLength:]}, nil
}

func draw(n int) (string, error) {
	// Bytes above the largest multiple of 36 are drawn again; else early letters would come up more often.
	const limit = 256 - 256%len(alphabet)
	out := make([]byte, 0, n)
	buffer := make([]byte, 2*n)
	for len(out) < n {
		if _, err := rand.Read(buffer); err != nil {
			return "", err
		}
		for _, b := range buffer {
			if int(b) < limit && len(out) < n {
				out = append(out, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	return string(out), nil
}

// Parse reads the form <id>.<secret>.
func Parse(text string) (Token, error) {
	m := wellFormed.FindStringSubmatch(text)
	if m == nil {
		// The text is not repeated: it may be a token with a slip in it.
		return Token{}, errors.New("a bootstrap token has the form of 6 characters, a dot, and 16 characters (a-z, 0-9)")
	}
	return Token{ID: m[1], Secret: m[2]}, nil
}

// String returns <id>.<secret>. It is a credential: never log it.
func (t Token) String() string { return t.ID + "." + t.Secret }

// SecretName returns the name of the token's Secret in kube-system.
func SecretName(id string) string { return bootstrapapi.BootstrapTokenSecretPrefix + id }

// NewSecret returns the Secret by which a cluster knows the token until it expires.
func NewSecret(t Token, description string, expires time.Time) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: SecretName(t.ID)},
		Type:       bootstrapapi.SecretTypeBootstrapToken,
		Data: map[string][]byte{
			bootstrapapi.BootstrapTokenIDKey:               []byte(t.ID),
			bootstrapapi.BootstrapTokenSecretKey:           []byte(t.Secret),
			bootstrapapi.BootstrapTokenExpirationKey:       expiration(expires),
			bootstrapapi.BootstrapTokenUsageSigningKey:     []byte("true"),
			bootstrapapi.BootstrapTokenUsageAuthentication: []byte("true"),
			bootstrapapi.BootstrapTokenExtraGroupsKey:      []byte(DefaultGroup),
			bootstrapapi.BootstrapTokenDescriptionKey:      []byte(description),
		},
	}
}

// Prolonged returns a copy of the token's Secret that expires at another time.
func Prolonged(s *corev1.Secret, expires time.Time) *corev1.Secret {
	out := s.DeepCopy()
	out.Data[bootstrapapi.BootstrapTokenExpirationKey] = expiration(expires)
	return out
}

func expiration(t time.Time) []byte { return []byte(t.UTC().Format(time.RFC3339)) }

// Record is what the Secret of a token says.
type Record struct {
	Token Token
	// Expires is zero for a token that never does.
	Expires        time.Time
	Signing        bool
	Authentication bool
	Groups         []string
	Description    string
}

// FromSecret reads the Secret of a token.
func FromSecret(s *corev1.Secret) (Record, error) {
	if s.Type != bootstrapapi.SecretTypeBootstrapToken {
		return Record{}, fmt.Errorf("secret %s/%s: type is %q, not %q", s.Namespace, s.Name, s.Type, bootstrapapi.SecretTypeBootstrapToken)
	}
	text := string(s.Data[bootstrapapi.BootstrapTokenIDKey]) + "." + string(s.Data[bootstrapapi.BootstrapTokenSecretKey])
	t, err := Parse(text)
	if err != nil {
		return Record{}, fmt.Errorf("secret %s/%s: %w", s.Namespace, s.Name, err)
	}
	if want := SecretName(t.ID); s.Name != want {
		return Record{}, fmt.Errorf("secret %s/%s: a token with this ID must be called %s", s.Namespace, s.Name, want)
	}
	r := Record{
		Token:          t,
		Signing:        string(s.Data[bootstrapapi.BootstrapTokenUsageSigningKey]) == "true",
		Authentication: string(s.Data[bootstrapapi.BootstrapTokenUsageAuthentication]) == "true",
		Description:    string(s.Data[bootstrapapi.BootstrapTokenDescriptionKey]),
		Groups:         groups(string(s.Data[bootstrapapi.BootstrapTokenExtraGroupsKey])),
	}
	if at := string(s.Data[bootstrapapi.BootstrapTokenExpirationKey]); at != "" {
		if r.Expires, err = time.Parse(time.RFC3339, at); err != nil {
			return Record{}, fmt.Errorf("secret %s/%s: expiration is no RFC 3339 time: %w", s.Namespace, s.Name, err)
		}
	}
	return r, nil
}

func groups(csv string) []string {
	out := slices.DeleteFunc(regexp.MustCompile(`\s*,\s*`).Split(csv, -1), func(g string) bool { return g == "" })
	slices.Sort(out)
	return slices.Compact(out)
}

// Expired tells whether the token is no longer valid. A token without an end never expires.
func (r Record) Expired(now time.Time) bool { return !r.Expires.IsZero() && !now.Before(r.Expires) }
