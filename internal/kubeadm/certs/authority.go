package certs

import (
	"crypto"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"time"
)

// Authority is a CA that can sign. It is safe for concurrent use.
type Authority struct {
	// Certificate is the CA's own.
	Certificate *x509.Certificate
	// PEM is the CA's certificate, and what else the Secret held beside it (a chain).
	PEM []byte

	key crypto.Signer
}

// NewAuthority reads a CA's key pair.
func NewAuthority(k KeyPair) (*Authority, error) {
	all, err := ParseCertificates(k.Cert)
	if err != nil {
		return nil, fmt.Errorf("read CA: %w", err)
	}
	key, err := ParseKey(k.Key)
	if err != nil {
		return nil, fmt.Errorf("read CA key: %w", err)
	}
	return &Authority{Certificate: all[0], PEM: k.Cert, key: key}, nil
}

// Request describes a certificate to sign.
type Request struct {
	CommonName    string
	Organizations []string
	// Hosts are the DNS names and IP addresses (without brackets) of a server.
	Hosts []string
	// Usages are what the certificate may be used for; empty means client authentication alone.
	Usages []x509.ExtKeyUsage
	// TTL of the certificate; zero means DefaultLeafValidity. It is cut to the CA's own end.
	TTL time.Duration
	// Algorithm of the key; empty means the CA's own.
	Algorithm Algorithm
	Now       time.Time
}

// Issue makes a key and signs a certificate for it.
func (a *Authority) Issue(r Request) (KeyPair, error) {
	algorithm := r.Algorithm
	if algorithm == "" {
		algorithm = AlgorithmOf(a.key.Public())
	}
	key, err := algorithm.newKey()
	if err != nil {
		return KeyPair{}, fmt.Errorf("generate key of %q: %w", r.CommonName, err)
	}
	cert, err := a.Sign(r, key.Public())
	if err != nil {
		return KeyPair{}, err
	}
	return newPair(cert, key)
}

// Sign signs a certificate for a public key whose private half is elsewhere, and returns it in PEM form.
func (a *Authority) Sign(r Request, public crypto.PublicKey) ([]byte, error) {
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	ttl := r.TTL
	if ttl == 0 {
		ttl = DefaultLeafValidity
	}
	end := r.Now.Add(ttl)
	if end.After(a.Certificate.NotAfter) {
		end = a.Certificate.NotAfter
	}
	usages := r.Usages
	if len(usages) == 0 {
		usages = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: r.CommonName, Organization: r.Organizations},
		NotBefore:    r.Now.Add(-clockSkew).UTC(),
		NotAfter:     end.UTC(),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:  usages,
	}
	for _, host := range r.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.Certificate, public, a.key)
	if err != nil {
		return nil, fmt.Errorf("sign certificate of %q: %w", r.CommonName, err)
	}
	return encodeCertificate(der), nil
}

// IssueTLS is Issue for a certificate that is used in this process.
func (a *Authority) IssueTLS(r Request) (tls.Certificate, error) {
	pair, err := a.Issue(r)
	if err != nil {
		return tls.Certificate{}, err
	}
	c, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("load certificate of %q: %w", r.CommonName, err)
	}
	return c, nil
}

// Pool returns the CA as the only trusted root.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.Certificate)
	return pool
}

// Expiry returns when the first certificate in PEM text ends.
func Expiry(certPEM []byte) (time.Time, error) {
	all, err := ParseCertificates(certPEM)
	if err != nil {
		return time.Time{}, err
	}
	return all[0].NotAfter, nil
}
