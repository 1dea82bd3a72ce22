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

// Authority issues the certificates of hosts whose TLS ends at a proxy. Its key is in this process only.
type Authority struct {
	own  *authority.Authority
	leaf *ecdsa.PrivateKey // of all that it issues

	mu     sync.Mutex
	issued map[string]*tls.Certificate
}

const (
	validCA   = 365 * 24 * time.Hour
	validLeaf = 24 * time.Hour
	maxIssued = 1024
)

// NewAuthority makes an authority with a key of its own.
func NewAuthority() (*Authority, error) {
	own, err := authority.New("picoclaw "+rand.Text()[:8], validCA)
	if err != nil {
		return nil, err
	}
	leaf, err := authority.NewKey()
	return &Authority{own: own, leaf: leaf, issued: map[string]*tls.Certificate{}}, err
}

// Certificate is the certificate of the authority itself, as PEM.
func (a *Authority) Certificate() []byte { return a.own.PEM() }

// issue returns a certificate for one host.
func (a *Authority) issue(t target) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.issued[t.host()]; c != nil && time.Until(c.Leaf.NotAfter) > validLeaf/2 {
		return c, nil
	}
	c, err := a.own.Issue(a.leaf, "", validLeaf, t.host())
	if err != nil {
		return nil, err
	}
	if len(a.issued) >= maxIssued {
		clear(a.issued)
	}
	a.issued[t.host()] = c
	return c, nil
}

// bundles are where systems keep the certificates they trust, as crypto/x509 looks for them.
var bundles = [...]string{
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/pki/tls/cacert.pem",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/ssl/cert.pem",
}

// Bundle returns an authority's certificate and those that this system trusts, as PEM. Programs that are told of a
// bundle trust nothing else.
func Bundle(a *Authority) ([]byte, error) {
	files := bundles[:]
	if file := os.Getenv("SSL_CERT_FILE"); file != "" {
		files = []string{file}
	}
	return bundle(a, files)
}

func bundle(a *Authority, files []string) ([]byte, error) {
	for _, file := range files {
		roots, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the certificates that this system trusts: %w", err)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(roots) {
			return nil, fmt.Errorf("%s has no certificates; install those of your system again", file)
		}
		return bytes.Join([][]byte{bytes.TrimSpace(roots), a.Certificate()}, []byte("\n")), nil
	}
	return nil, fmt.Errorf("no certificates that this system trusts are in any of %q; "+
		"install the package ca-certificates, or name a file in SSL_CERT_FILE", files)
}
