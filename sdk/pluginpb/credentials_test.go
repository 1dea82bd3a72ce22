package pluginpb

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"
)

func TestCredentialsTravelAsALine(t *testing.T) {
	c, host, err := NewCredentials()
	if err != nil {
		t.Fatal(err)
	}
	var pipe bytes.Buffer
	if _, err := c.WriteTo(&pipe); err != nil {
		t.Fatal(err)
	}
	pipe.WriteString("what follows stays")
	r := bufio.NewReaderSize(&pipe, 16)
	read, err := ReadCredentials(r)
	if err != nil {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(r); string(rest) != "what follows stays" {
		t.Errorf("of what follows %q is left", rest)
	}
	plugin, err := read.ServerTLSConfig()
	if err != nil {
		t.Fatal(err)
	}
	if err := handshake(host, plugin); err != nil {
		t.Errorf("the two ends do not come together: %v", err)
	}
}

func TestInvalidCredentialsLineIsRefused(t *testing.T) {
	for _, line := range []string{"", "x", "{}x\n", "not JSON\n", strings.Repeat("x", 1<<20)} {
		if _, err := ReadCredentials(bufio.NewReader(strings.NewReader(line))); err == nil {
			t.Errorf("%.20q is taken for credentials", line)
		}
	}
	if _, err := (&TLSCredentials{}).ServerTLSConfig(); err == nil {
		t.Error("empty credentials can be used")
	}
}

// handshake connects two TLS configurations in memory and exchanges a byte, after which both have seen the other's
// certificate.
func handshake(client, server *tls.Config) error {
	a, b := net.Pipe()
	defer func() { _ = a.Close(); _ = b.Close() }()
	done := make(chan error, 1)
	go func() {
		s := tls.Server(b, server)
		_, err := s.Read(make([]byte, 1))
		done <- err
	}()
	c := tls.Client(a, client)
	if _, err := c.Write([]byte{1}); err != nil {
		_ = a.Close()
		return errors.Join(err, <-done)
	}
	return <-done
}

// What an instance's secret costs at its start, beside keys as go-plugin's AutoMTLS makes them (P-521).
func BenchmarkSecret(b *testing.B) {
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			c, host, err := NewCredentials()
			if err != nil {
				b.Fatal(err)
			}
			plugin, err := c.ServerTLSConfig()
			if err != nil {
				b.Fatal(err)
			}
			if err := handshake(host, plugin); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("P-521", func(b *testing.B) {
		for b.Loop() {
			client, server := p521(b), p521(b)
			pool := func(c tls.Certificate) *x509.CertPool {
				p := x509.NewCertPool()
				leaf, err := x509.ParseCertificate(c.Certificate[0])
				if err != nil {
					b.Fatal(err)
				}
				p.AddCert(leaf)
				return p
			}
			err := handshake(
				&tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{client}, RootCAs: pool(server),
					ServerName: "localhost"},
				&tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{server}, ClientCAs: pool(client),
					ClientAuth: tls.RequireAndVerifyClientCert})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

func p521(b *testing.B) tls.Certificate {
	b.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		b.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
