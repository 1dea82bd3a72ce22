package hub

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/internal/authority"
)

// How long certificates hold. That of a server is made anew while it serves, the authority's is not.
const (
	authorityHolds = 20 * 365 * 24 * time.Hour
	serverHolds    = 90 * 24 * time.Hour
	renewBefore    = 30 * 24 * time.Hour
)

// authority reads the certificate authority.
func (h *Hub) authority() (*authority.CertificateAuthority, error) {
	data, err := os.ReadFile(h.path("authority.pem"))
	if err != nil {
		return nil, h.damaged(err)
	}
	first, rest := pem.Decode(data)
	second, _ := pem.Decode(rest)
	if first == nil || second == nil {
		return nil, h.damaged(fmt.Errorf("%s: it has no certificate and key", h.path("authority.pem")))
	}
	a := &authority.CertificateAuthority{}
	if a.Certificate, err = x509.ParseCertificate(first.Bytes); err == nil {
		a.Key, err = x509.ParseECPrivateKey(second.Bytes)
	}
	if err != nil {
		return nil, h.damaged(fmt.Errorf("%s: %w", h.path("authority.pem"), err))
	}
	return a, nil
}

func newAuthority() ([]byte, error) {
	a, err := authority.NewAuthority("picoclaw hub", authorityHolds)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalECPrivateKey(a.Key)
	if err != nil {
		return nil, err
	}
	return append(a.CertificatePEM(), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})...), nil
}

// serving is the TLS of a hub that goes by some names and addresses.
func serving(a *authority.CertificateAuthority, names []string) *tls.Config {
	var mu sync.Mutex
	var current *tls.Certificate
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			mu.Lock()
			defer mu.Unlock()
			if current == nil || time.Until(current.Leaf.NotAfter) < renewBefore {
				key, err := authority.NewKey()
				if err != nil {
					return nil, err
				}
				if current, err = a.IssueCertificate(key, "picoclaw hub", serverHolds, names...); err != nil {
					return nil, err
				}
			}
			return current, nil
		},
	}
}
