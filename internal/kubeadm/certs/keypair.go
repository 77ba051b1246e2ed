package certs

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// DefaultCAValidity is how long a generated CA is valid: 3650 days, as kubeadm's.
const DefaultCAValidity = 3650 * 24 * time.Hour

// DefaultLeafValidity is how long a certificate signed by a CA is valid unless the request says otherwise.
const DefaultLeafValidity = 365 * 24 * time.Hour

// clockSkew backdates certificates, since the clocks of machines that have just booted are often behind.
const clockSkew = 5 * time.Minute

// KeyPair is a certificate (or, for service accounts, a public key) and its private key, in PEM form.
type KeyPair struct {
	Cert, Key []byte
}

// Set holds the key pairs of one cluster.
type Set map[Purpose]KeyPair

// Options say how key pairs are generated.
type Options struct {
	// Algorithm of the keys; empty means RSA-2048.
	Algorithm Algorithm
	// Validity of a CA; zero means DefaultCAValidity.
	Validity time.Duration
	// Now is the time of generation.
	Now time.Time
}

// Generate makes the key pair of a purpose from Generated: a self-signed CA, or the service account keys.
func Generate(p Purpose, o Options) (KeyPair, error) {
	switch p {
	case ClusterCA, EtcdCA, FrontProxyCA:
		return generateCA(p, o)
	case ServiceAccount:
		return generateServiceAccount(o)
	case APIServerEtcdClient:
		return KeyPair{}, errors.New("generate apiserver-etcd-client: the client certificate of an external etcd has to be supplied")
	}
	return KeyPair{}, fmt.Errorf("generate key pair: unknown purpose %q", p)
}

// GenerateMissing returns the key pairs of the purposes in Generated that are not in have, and nothing else.
func GenerateMissing(have Set, externalEtcd ExternalEtcd, o Options) (Set, error) {
	out := Set{}
	for _, p := range Generated(externalEtcd) {
		if _, ok := have[p]; ok {
			continue
		}
		pair, err := Generate(p, o)
		if err != nil {
			return nil, err
		}
		out[p] = pair
	}
	return out, nil
}

func generateCA(p Purpose, o Options) (KeyPair, error) {
	key, err := o.Algorithm.newKey()
	if err != nil {
		return KeyPair{}, fmt.Errorf("generate key of CA %s: %w", p, err)
	}
	serial, err := newSerial()
	if err != nil {
		return KeyPair{}, err
	}
	validity := o.Validity
	if validity == 0 {
		validity = DefaultCAValidity
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: p.commonName()},
		DNSNames:              []string{p.commonName()},
		NotBefore:             o.Now.Add(-clockSkew).UTC(),
		NotAfter:              o.Now.Add(validity).UTC(),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment | x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return KeyPair{}, fmt.Errorf("sign CA %s: %w", p, err)
	}
	return newPair(encodeCertificate(der), key)
}

func generateServiceAccount(o Options) (KeyPair, error) {
	key, err := o.Algorithm.newKey()
	if err != nil {
		return KeyPair{}, fmt.Errorf("generate service account key: %w", err)
	}
	public, err := encodePublicKey(key.Public())
	if err != nil {
		return KeyPair{}, err
	}
	return newPair(public, key)
}

func newPair(cert []byte, key crypto.Signer) (KeyPair, error) {
	text, err := encodeKey(key)
	if err != nil {
		return KeyPair{}, err
	}
	return KeyPair{Cert: cert, Key: text}, nil
}

func newSerial() (*big.Int, error) {
	// RFC 5280 asks for at most 20 octets and a positive number; 127 bits are both, and unguessable.
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("draw serial number: %w", err)
	}
	return n.Add(n, big.NewInt(1)), nil
}

// Check tells what is wrong with a key pair for a purpose, in words for the person who supplied it; nil if nothing is.
// external says that etcd is not run by kubeadm, in which case its CA needs no key.
func (k KeyPair) Check(p Purpose, externalEtcd ExternalEtcd, now time.Time) error {
	if len(k.Cert) == 0 {
		return errors.New("key tls.crt is missing or empty")
	}
	if p == EtcdCA && externalEtcd.InUse() && len(k.Key) == 0 {
		return checkCertificate(k.Cert, p, now)
	}
	if len(k.Key) == 0 {
		return errors.New("key tls.key is missing or empty")
	}
	key, err := ParseKey(k.Key)
	if err != nil {
		return fmt.Errorf("key tls.key: %w", err)
	}
	if p != ServiceAccount {
		if err := checkCertificate(k.Cert, p, now); err != nil {
			return err
		}
	}
	public, err := parsePublicKey(k.Cert)
	if err != nil {
		return fmt.Errorf("key tls.crt: %w", err)
	}
	if same, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool }); !ok || !same.Equal(public) {
		return errors.New("tls.crt and tls.key do not belong together")
	}
	return nil
}

func checkCertificate(text []byte, p Purpose, now time.Time) error {
	all, err := ParseCertificates(text)
	if err != nil {
		return fmt.Errorf("key tls.crt: %w", err)
	}
	c := all[0]
	if p != APIServerEtcdClient {
		if !c.IsCA {
			return errors.New("the certificate in tls.crt is not a CA (basicConstraints CA:TRUE is missing)")
		}
		if c.KeyUsage != 0 && c.KeyUsage&x509.KeyUsageCertSign == 0 {
			return errors.New("the certificate in tls.crt may not sign others (keyUsage keyCertSign is missing)")
		}
	}
	if now.After(c.NotAfter) {
		return fmt.Errorf("the certificate in tls.crt expired on %s", c.NotAfter.UTC().Format(time.RFC3339))
	}
	if now.Add(clockSkew).Before(c.NotBefore) {
		return fmt.Errorf("the certificate in tls.crt is not valid before %s", c.NotBefore.UTC().Format(time.RFC3339))
	}
	return nil
}

// Hashes returns the public key pins of every certificate in PEM text, as kubeadm's caCertHashes wants them:
// sha256:<hex of the SHA-256 of the DER-encoded public key info>.
func Hashes(caPEM []byte) ([]string, error) {
	all, err := ParseCertificates(caPEM)
	if err != nil {
		return nil, fmt.Errorf("hash CA: %w", err)
	}
	out := make([]string, 0, len(all))
	for _, c := range all {
		sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
		out = append(out, "sha256:"+hex.EncodeToString(sum[:]))
	}
	return out, nil
}

// Equal tells whether both key pairs have the same bytes.
func (k KeyPair) Equal(o KeyPair) bool {
	return bytes.Equal(k.Cert, o.Cert) && bytes.Equal(k.Key, o.Key)
}
