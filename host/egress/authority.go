package egress

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/internal/authority"
)

// CertificateAuthority issues certificates for hosts whose TLS the proxy terminates. Its key is never stored.
type CertificateAuthority struct {
	ca      *authority.CertificateAuthority
	leafKey *ecdsa.PrivateKey // key of all issued certificates

	mu     sync.Mutex
	issued map[string]*tls.Certificate
}

const (
	validCA   = 365 * 24 * time.Hour
	validLeaf = 24 * time.Hour
	maxIssued = 1024
)

// NewCertificateAuthority returns a certificate authority with a new key.
func NewCertificateAuthority() (*CertificateAuthority, error) {
	ca, err := authority.NewAuthority("picoclaw "+rand.Text()[:8], validCA)
	if err != nil {
		return nil, err
	}
	leafKey, err := authority.NewKey()
	return &CertificateAuthority{ca: ca, leafKey: leafKey, issued: map[string]*tls.Certificate{}}, err
}

// CertificatePEM returns the authority's own certificate in PEM form.
func (a *CertificateAuthority) CertificatePEM() []byte { return a.ca.CertificatePEM() }

// getOrIssueCert returns a certificate for a target's host, from the cache if it is valid for long enough.
func (a *CertificateAuthority) getOrIssueCert(t target) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.issued[t.nameOrAddr()]; c != nil && time.Until(c.Leaf.NotAfter) > validLeaf/2 {
		return c, nil
	}
	c, err := a.ca.IssueCertificate(a.leafKey, "", validLeaf, t.nameOrAddr())
	if err != nil {
		return nil, err
	}
	if len(a.issued) >= maxIssued {
		clear(a.issued)
	}
	a.issued[t.nameOrAddr()] = c
	return c, nil
}

// bundlePaths are the files in which systems keep trusted certificates. The list is that of crypto/x509.
var bundlePaths = [...]string{
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/pki/tls/cacert.pem",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/ssl/cert.pem",
}

// TrustedCertBundle returns the authority's certificate and the certificates that this system trusts, in PEM form. A
// program with a bundle trusts no other certificates.
func TrustedCertBundle(a *CertificateAuthority) ([]byte, error) {
	files := bundlePaths[:]
	if file := os.Getenv("SSL_CERT_FILE"); file != "" {
		files = []string{file}
	}
	return buildCertBundle(a, files)
}

// buildCertBundle returns the certificates in the first bundle file that exists, together with the authority's.
func buildCertBundle(a *CertificateAuthority, files []string) ([]byte, error) {
	for _, file := range files {
		roots, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the system's certificates: %w", err)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(roots) {
			return nil, fmt.Errorf("%s contains no certificates; reinstall your system's", file)
		}
		return bytes.Join([][]byte{bytes.TrimSpace(roots), a.CertificatePEM()}, []byte("\n")), nil
	}
	return nil, fmt.Errorf("the system's certificates are in none of %q; "+
		"install the package ca-certificates, or name a file in SSL_CERT_FILE", files)
}
