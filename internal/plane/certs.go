package plane

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"slipway.dev/slipway/internal/fault"
	"slipway.dev/slipway/internal/statedir"
)

// Lifetimes of the plane's own certificates. Leaves are renewed when a third of their life is left, at start and while
// running.
const (
	caLife   = 10 * 365 * 24 * time.Hour
	leafLife = 365 * 24 * time.Hour
)

// adminGroup is bound to cluster-admin at every start.
const adminGroup = "slipway:admins"

// pki is the plane's own certificate authority and its leaves, as files below pki/ in the state directory.
type pki struct {
	s      *statedir.Dir
	caCert *x509.Certificate
	caKey  crypto.Signer
	caPEM  []byte
}

// leaf is one certificate of the plane's.
type leaf struct {
	name    string
	subject pkix.Name
	usage   x509.ExtKeyUsage
	dns     []string
	ips     []net.IP
}

func leaves(listen string) []leaf {
	ips := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	names := []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	addr, err := netip.ParseAddr(listen)
	switch {
	case err == nil && !addr.IsUnspecified():
		if ip := net.IP(addr.WithZone("").AsSlice()); !slices.ContainsFunc(ips, ip.Equal) {
			ips = append(ips, ip)
		}
	case err != nil && listen != "" && !slices.Contains(names, listen):
		names = append(names, listen) // The kubeconfig names the host as it was given.
	}
	return []leaf{
		{name: "apiserver", subject: pkix.Name{CommonName: "slipway-apiserver"}, usage: x509.ExtKeyUsageServerAuth, dns: names, ips: ips},
		{name: "webhook/tls", subject: pkix.Name{CommonName: "slipway-webhook"}, usage: x509.ExtKeyUsageServerAuth, dns: []string{"localhost"}, ips: ips},
		{name: "admin", subject: pkix.Name{CommonName: "slipway-admin", Organization: []string{adminGroup}}, usage: x509.ExtKeyUsageClientAuth},
	}
}

// openPKI loads the certificate authority, making it the first time, and makes or renews every leaf.
func openPKI(s *statedir.Dir, listen string, now time.Time) (*pki, error) {
	if err := os.MkdirAll(s.Join("pki", "webhook"), 0o700); err != nil {
		return nil, err
	}
	p := &pki{s: s}
	if err := p.loadCA(now); err != nil {
		return nil, fault.New(err, "cannot use the plane's certificates", err.Error(), s.Join("pki"), "restore the files from a backup")
	}
	if err := p.checkClock(now); err != nil {
		return nil, err
	}
	if _, err := p.renew(listen, now); err != nil {
		return nil, err
	}
	return p, p.ensureServiceAccountKey()
}

func (p *pki) file(name string) string { return p.s.Join("pki", name) }

func (p *pki) loadCA(now time.Time) error {
	certPEM, err := os.ReadFile(p.file("ca.crt"))
	if errors.Is(err, fs.ErrNotExist) {
		return p.makeCA(now)
	}
	if err != nil {
		return err
	}
	keyPEM, err := os.ReadFile(p.file("ca.key"))
	if err != nil {
		return err
	}
	if p.caCert, err = parseCert(certPEM); err != nil {
		return fmt.Errorf("parse ca.crt: %w", err)
	}
	if p.caKey, err = parseKey(keyPEM); err != nil {
		return fmt.Errorf("parse ca.key: %w", err)
	}
	p.caPEM = certPEM
	return nil
}

// checkClock refuses a clock by which the certificate authority is not valid: nobody would trust what it signs.
func (p *pki) checkClock(now time.Time) error {
	text := now.UTC().Format(time.RFC3339)
	if begins := p.caCert.NotBefore; now.Before(begins) {
		return fault.New(nil, "cannot start the management plane",
			fmt.Sprintf("this machine's clock says %s, but the plane's certificates were made later and are valid from %s", text, begins.Format(time.RFC3339)),
			p.file("ca.crt"), "set the clock (date, or its NTP service), then: slipway up")
	}
	if ends := p.caCert.NotAfter; now.After(ends) {
		return fault.New(nil, "cannot start the management plane",
			fmt.Sprintf("this machine's clock says %s, but the plane's certificate authority ended at %s", text, ends.Format(time.RFC3339)),
			p.file("ca.crt"), "set the clock; if it is right, move pki/ away to have new certificates made, then: slipway up")
	}
	return nil
}

func (p *pki) makeCA(now time.Time) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	tmpl := &x509.Certificate{
		Subject: pkix.Name{CommonName: "slipway-plane-ca"}, NotBefore: now.Add(-5 * time.Minute), NotAfter: now.Add(caLife),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, IsCA: true, BasicConstraintsValid: true,
	}
	p.caKey = key
	certPEM, err := p.sign(tmpl, tmpl, key.Public())
	if err != nil {
		return err
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return err
	}
	// The key is written first: a crash between the two leaves no certificate, and the pair is made anew.
	if err := statedir.WriteFile(p.file("ca.key"), keyPEM); err != nil {
		return err
	}
	if err := statedir.WriteFile(p.file("ca.crt"), certPEM); err != nil {
		return err
	}
	p.caPEM = certPEM
	p.caCert, err = parseCert(certPEM)
	return err
}

// renew writes every leaf that is missing, unreadable, foreign or near its end, and says whether it wrote any.
func (p *pki) renew(listen string, now time.Time) (bool, error) {
	renewed := false
	for _, l := range leaves(listen) {
		if p.fresh(l, now) {
			continue
		}
		if err := p.issue(l, now); err != nil {
			return renewed, fault.New(err, "cannot renew the plane's certificates", err.Error(), p.file(l.name+".crt"), "free some space or mend the directory's permissions")
		}
		renewed = true
	}
	return renewed, nil
}

func (p *pki) fresh(l leaf, now time.Time) bool {
	b, err := os.ReadFile(p.file(l.name + ".crt"))
	if err != nil {
		return false
	}
	cert, err := parseCert(b)
	if err != nil || cert.CheckSignatureFrom(p.caCert) != nil {
		return false
	}
	keyPEM, err := os.ReadFile(p.file(l.name + ".key"))
	if err != nil {
		return false
	}
	key, err := parseKey(keyPEM)
	if err != nil || !publicKeysEqual(key.Public(), cert.PublicKey) {
		return false
	}
	for _, ip := range l.ips {
		if cert.VerifyHostname(ip.String()) != nil {
			return false
		}
	}
	for _, name := range l.dns {
		if !slices.Contains(cert.DNSNames, name) {
			return false
		}
	}
	return now.After(cert.NotBefore) && now.Before(cert.NotAfter.Add(-leafLife/3))
}

func (p *pki) issue(l leaf, now time.Time) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	// A clock that was set back must not make certificates of a running plane invalid, hence the wide margin.
	tmpl := &x509.Certificate{
		Subject: l.subject, NotBefore: now.Add(-24 * time.Hour), NotAfter: now.Add(leafLife), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{l.usage}, DNSNames: l.dns, IPAddresses: l.ips,
	}
	certPEM, err := p.sign(tmpl, p.caCert, key.Public())
	if err != nil {
		return err
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return err
	}
	if err := statedir.WriteFile(p.file(l.name+".key"), keyPEM); err != nil {
		return err
	}
	return statedir.WriteFile(p.file(l.name+".crt"), certPEM)
}

func (p *pki) sign(tmpl, parent *x509.Certificate, pub crypto.PublicKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	tmpl.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, tmpl, parent, pub, p.caKey)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// ensureServiceAccountKey makes the key that signs service account tokens, once.
func (p *pki) ensureServiceAccountKey() error {
	if _, err := os.Stat(p.file("sa.key")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return err
	}
	return statedir.WriteFile(p.file("sa.key"), keyPEM)
}

func parseCert(b []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(b)
	if block == nil {
		return nil, errors.New("no PEM block")
	}
	return x509.ParseCertificate(block.Bytes)
}

func parseKey(b []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(b)
	if block == nil {
		return nil, errors.New("no PEM block")
	}
	return x509.ParseECPrivateKey(block.Bytes)
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func publicKeysEqual(a, b crypto.PublicKey) bool {
	key, ok := a.(interface{ Equal(crypto.PublicKey) bool })
	return ok && key.Equal(b)
}
