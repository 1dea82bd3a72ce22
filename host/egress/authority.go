package egress

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"sync"
	"time"
)

// Authority issues the certificates of hosts whose TLS ends at a proxy. Its key is in this process only.
type Authority struct {
	key  *ecdsa.PrivateKey // its own
	cert *x509.Certificate
	leaf *ecdsa.PrivateKey // of all that it issues

	mu     sync.Mutex
	issued map[string]*tls.Certificate
}

const (
	validCA   = 365 * 24 * time.Hour
	validLeaf = 24 * time.Hour
	skew      = time.Hour // clocks differ
	maxIssued = 1024
)

// NewAuthority makes an authority with a key of its own.
func NewAuthority() (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of an authority: %w", err)
	}
	leaf, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of an authority: %w", err)
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "picoclaw " + rand.Text()[:8]},
		NotBefore:             time.Now().Add(-skew),
		NotAfter:              time.Now().Add(validCA),
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	cert, err := sign(template, template, key, key)
	if err != nil {
		return nil, err
	}
	return &Authority{key: key, cert: cert, leaf: leaf, issued: map[string]*tls.Certificate{}}, nil
}

// Certificate is the certificate of the authority itself, as PEM.
func (a *Authority) Certificate() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// issue returns a certificate for one host.
func (a *Authority) issue(t target) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.issued[t.host()]; c != nil && time.Until(c.Leaf.NotAfter) > validLeaf/2 {
		return c, nil
	}
	template := &x509.Certificate{
		NotBefore:   time.Now().Add(-skew),
		NotAfter:    time.Now().Add(validLeaf),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if t.name != "" {
		template.DNSNames = []string{t.name}
	} else {
		template.IPAddresses = []net.IP{t.addr.AsSlice()}
	}
	cert, err := sign(template, a.cert, a.leaf, a.key)
	if err != nil {
		return nil, err
	}
	if len(a.issued) >= maxIssued {
		clear(a.issued)
	}
	c := &tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: a.leaf, Leaf: cert}
	a.issued[t.host()] = c
	return c, nil
}

func sign(template, parent *x509.Certificate, subject, issuer *ecdsa.PrivateKey) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 126))
	if err != nil {
		return nil, fmt.Errorf("sign a certificate: %w", err)
	}
	template.SerialNumber = serial.Add(serial, big.NewInt(1))
	der, err := x509.CreateCertificate(rand.Reader, template, parent, subject.Public(), issuer)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate: %w", err)
	}
	return x509.ParseCertificate(der)
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
