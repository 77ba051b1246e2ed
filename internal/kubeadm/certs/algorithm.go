package certs

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// Algorithm names how a private key is made, in kubeadm's words (encryptionAlgorithm). Empty means RSA-2048.
type Algorithm string

// The algorithms that kubeadm knows.
const (
	RSA2048   Algorithm = "RSA-2048"
	RSA3072   Algorithm = "RSA-3072"
	RSA4096   Algorithm = "RSA-4096"
	ECDSAP256 Algorithm = "ECDSA-P256"
	ECDSAP384 Algorithm = "ECDSA-P384"
)

const (
	pemCertificate = "CERTIFICATE"
	pemPublicKey   = "PUBLIC KEY"
	pemRSAKey      = "RSA PRIVATE KEY"
	pemECKey       = "EC PRIVATE KEY"
	pemPKCS8Key    = "PRIVATE KEY"
)

// newKey makes a private key.
func (a Algorithm) newKey() (crypto.Signer, error) {
	switch a {
	case "", RSA2048:
		return rsa.GenerateKey(rand.Reader, 2048)
	case RSA3072:
		return rsa.GenerateKey(rand.Reader, 3072)
	case RSA4096:
		return rsa.GenerateKey(rand.Reader, 4096)
	case ECDSAP256:
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case ECDSAP384:
		return ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	default:
		return nil, fmt.Errorf("unknown key algorithm %q: use one of RSA-2048, RSA-3072, RSA-4096, ECDSA-P256, ECDSA-P384", a)
	}
}

// AlgorithmOf returns the algorithm closest to the key's, rounded up for sizes kubeadm has no name for, so that
// what is signed by a user's own CA is no weaker than that CA.
func AlgorithmOf(key crypto.PublicKey) Algorithm {
	switch k := key.(type) {
	case *rsa.PublicKey:
		switch bits := k.N.BitLen(); {
		case bits <= 2048:
			return RSA2048
		case bits <= 3072:
			return RSA3072
		default:
			return RSA4096
		}
	case *ecdsa.PublicKey:
		if k.Curve.Params().BitSize <= 256 {
			return ECDSAP256
		}
		return ECDSAP384
	default:
		return ECDSAP256
	}
}

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: pemCertificate, Bytes: der})
}

// encodeKey writes the key as kubeadm does: PKCS#1 for RSA, SEC 1 for elliptic curves.
func encodeKey(key crypto.Signer) ([]byte, error) {
	switch k := key.(type) {
	case *rsa.PrivateKey:
		return pem.EncodeToMemory(&pem.Block{Type: pemRSAKey, Bytes: x509.MarshalPKCS1PrivateKey(k)}), nil
	case *ecdsa.PrivateKey:
		der, err := x509.MarshalECPrivateKey(k)
		if err != nil {
			return nil, fmt.Errorf("encode private key: %w", err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: pemECKey, Bytes: der}), nil
	default:
		return nil, fmt.Errorf("encode private key: unsupported type %T", key)
	}
}

func encodePublicKey(key crypto.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode public key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemPublicKey, Bytes: der}), nil
}

// ParseKey reads the first private key in PEM text: PKCS#1, SEC 1 or PKCS#8. Blocks of other kinds (EC PARAMETERS)
// are passed over.
func ParseKey(text []byte) (crypto.Signer, error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case pemRSAKey:
			return signer(x509.ParsePKCS1PrivateKey(block.Bytes))
		case pemECKey:
			return signer(x509.ParseECPrivateKey(block.Bytes))
		case pemPKCS8Key:
			key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
			if err != nil {
				return nil, fmt.Errorf("parse private key: %w", err)
			}
			s, ok := key.(crypto.Signer)
			if !ok {
				return nil, fmt.Errorf("parse private key: a %T cannot sign", key)
			}
			return s, nil
		}
	}
	return nil, errors.New("no private key in PEM form (PKCS#1, SEC 1 or PKCS#8)")
}

func signer[K crypto.Signer](key K, err error) (crypto.Signer, error) {
	if err != nil {
		return nil, fmt.Errorf("parse private key: %w", err)
	}
	return key, nil
}

// ParseCertificates reads every certificate in PEM text; it is an error if there is none.
func ParseCertificates(text []byte) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != pemCertificate {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("parse certificate: %w", err)
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, errors.New("no certificate in PEM form")
	}
	return out, nil
}

// parsePublicKey reads a public key in PEM form, or the one inside a certificate.
func parsePublicKey(text []byte) (crypto.PublicKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("no public key in PEM form")
	}
	switch block.Type {
	case pemCertificate:
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("parse certificate: %w", err)
		}
		return c.PublicKey, nil
	case "RSA PUBLIC KEY":
		return x509.ParsePKCS1PublicKey(block.Bytes)
	case pemPublicKey:
		return x509.ParsePKIXPublicKey(block.Bytes)
	default:
		return nil, fmt.Errorf("no public key in PEM form, but a %s", block.Type)
	}
}
