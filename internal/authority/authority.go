// Package authority is a certificate authority that issues certificates for servers. It must not know the servers or
// the place of the key.
package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net/netip"
	"time"
)

// CertificateAuthority is a certificate authority: its certificate and key.
type CertificateAuthority struct {
	Certificate *x509.Certificate
	Key         *ecdsa.PrivateKey
}

// NewKey generates an ECDSA key.
func NewKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

// NewAuthority creates a certificate authority whose certificate is valid for holds.
func NewAuthority(name string, holds time.Duration) (*CertificateAuthority, error) {
	key, err := NewKey()
	if err != nil {
		return nil, fmt.Errorf("make the key of an authority: %w", err)
	}
	c := newCertificateTemplate(name, holds)
	c.IsCA, c.BasicConstraintsValid, c.MaxPathLenZero = true, true, true
	c.KeyUsage = x509.KeyUsageCertSign
	a := &CertificateAuthority{c, key}
	a.Certificate, err = a.signCertificate(c, key)
	return a, err
}

// CertificatePEM returns the authority's certificate in PEM.
func (a *CertificateAuthority) CertificatePEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate.Raw})
}

// IssueCertificate issues a server certificate for a key, host names and addresses.
func (a *CertificateAuthority) IssueCertificate(key *ecdsa.PrivateKey, name string, holds time.Duration, hosts ...string) (*tls.Certificate, error) {
	c := newCertificateTemplate(name, holds)
	c.KeyUsage = x509.KeyUsageDigitalSignature
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if addr, err := netip.ParseAddr(host); err == nil {
			c.IPAddresses = append(c.IPAddresses, addr.AsSlice())
		} else {
			c.DNSNames = append(c.DNSNames, host)
		}
	}
	leaf, err := a.signCertificate(c, key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{leaf.Raw, a.Certificate.Raw}, PrivateKey: key, Leaf: leaf}, nil
}

func newCertificateTemplate(name string, holds time.Duration) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(holds)} // an hour for clocks that differ
}

func (a *CertificateAuthority) signCertificate(c *x509.Certificate, key *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, c, a.Certificate, key.Public(), a.Key)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate: %w", err)
	}
	return x509.ParseCertificate(der)
}
