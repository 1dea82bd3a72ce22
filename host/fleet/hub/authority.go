package hub

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/internal/atomicfile"
)

// How long certificates hold. That of a server is made anew while it serves, the authority's is not.
const (
	authorityHolds = 20 * 365 * 24 * time.Hour
	serverHolds    = 90 * 24 * time.Hour
	renewBefore    = 30 * 24 * time.Hour
)

// authority signs the certificates of the hub, and nobody else's.
type authority struct {
	pem         []byte
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// authority reads the certificate authority, which is made if there is none.
func (h *Hub) authority() (*authority, error) {
	data, err := os.ReadFile(h.path("authority.pem"))
	if errors.Is(err, fs.ErrNotExist) {
		if data, err = newAuthority(); err == nil {
			err = atomicfile.Write(h.path("authority.pem"), data, 0o600)
		}
	}
	if err != nil {
		return nil, err
	}
	first, rest := pem.Decode(data)
	second, _ := pem.Decode(rest)
	if first == nil || second == nil {
		return nil, fmt.Errorf("%s: it has no certificate and key; put back a copy of it", h.path("authority.pem"))
	}
	a := &authority{pem: pem.EncodeToMemory(first)}
	if a.certificate, err = x509.ParseCertificate(first.Bytes); err == nil {
		a.key, err = x509.ParseECPrivateKey(second.Bytes)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; put back a copy of it", h.path("authority.pem"), err)
	}
	return a, nil
}

func newAuthority() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificate("picoclaw hub", authorityHolds)
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
	template.KeyUsage = x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})...), nil
}

func certificate(name string, holds time.Duration) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		panic(err) // crypto/rand does not fail
	}
	now := time.Now()
	return &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(holds)} // an hour for clocks that differ
}

// serving is the TLS of a server that goes by some names and addresses.
func (a *authority) serving(names []string) *tls.Config {
	var mu sync.Mutex
	var current *tls.Certificate
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			mu.Lock()
			defer mu.Unlock()
			if current == nil || time.Until(current.Leaf.NotAfter) < renewBefore {
				fresh, err := a.issue(names)
				if err != nil {
					return nil, err
				}
				current = fresh
			}
			return current, nil
		},
	}
}

func (a *authority) issue(names []string) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificate("picoclaw hub", serverHolds)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der, a.certificate.Raw}, PrivateKey: key, Leaf: leaf}, nil
}
