package pluginpb

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"time"
)

// serverName is the name in both certificates. The certificates are pinned, so it carries no trust of its own.
const serverName = "picoclaw-instance"

// maxCredentialsBytes limits the line a plugin reads from its standard input.
const maxCredentialsBytes = 64 << 10

// Credentials are the secret of one plugin instance: a key and certificate for either end, made by the host for this
// one process and given to it as the first line of its standard input. Only a peer that holds the other's key gets
// through the TLS handshake, so finding the socket, or sitting between its ends, is of no use.
//
// It is mutual TLS as go-plugin's AutoMTLS does it, with two differences. The keys are P-256 instead of P-521, which
// makes starting a plugin some 10 ms cheaper (BenchmarkSecret). And they travel through a pipe that only the two
// processes hold, not through the environment or the handshake line, so no third process can read or replace them.
type Credentials struct {
	Certificate string `json:"certificate"` // the plugin's own, PEM
	Key         string `json:"key"`         // the plugin's own, PEM (PKCS #8)
	Host        string `json:"host"`        // the only client certificate that may connect, PEM
}

// NewCredentials creates the credentials of an instance, and the host's side of the TLS connection.
func NewCredentials() (*Credentials, *tls.Config, error) {
	pluginCert, pluginKey, err := newSelfSigned(x509.ExtKeyUsageServerAuth)
	if err != nil {
		return nil, nil, fmt.Errorf("make the plugin's certificate: %w", err)
	}
	hostCert, hostKey, err := newSelfSigned(x509.ExtKeyUsageClientAuth)
	if err != nil {
		return nil, nil, fmt.Errorf("make the host's certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(hostCert, hostKey)
	if err != nil {
		return nil, nil, fmt.Errorf("load the host's certificate: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pluginCert)
	return &Credentials{Certificate: string(pluginCert), Key: string(pluginKey), Host: string(hostCert)},
		&tls.Config{
			MinVersion: tls.VersionTLS13,
			// Plugins made with the SDK take X25519, those on gRPC's C core P-256.
			CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP256},
			Certificates:     []tls.Certificate{pair},
			RootCAs:          roots,
			ServerName:       serverName,
		}, nil
}

// TLS returns the plugin's side of the connection: it serves with its certificate and accepts only the host's.
func (c *Credentials) TLS() (*tls.Config, error) {
	pair, err := tls.X509KeyPair([]byte(c.Certificate), []byte(c.Key))
	if err != nil {
		return nil, fmt.Errorf("load the instance's certificate: %w", err)
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM([]byte(c.Host)) {
		return nil, errors.New("the host's certificate is not PEM")
	}
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		CurvePreferences:       []tls.CurveID{tls.X25519},
		Certificates:           []tls.Certificate{pair},
		ClientAuth:             tls.RequireAndVerifyClientCert,
		ClientCAs:              clients,
		SessionTicketsDisabled: true,
	}, nil
}

// WriteTo writes the credentials as one line of JSON.
func (c *Credentials) WriteTo(w io.Writer) (int64, error) {
	line, err := json.Marshal(c)
	if err != nil {
		return 0, err
	}
	n, err := w.Write(append(line, '\n'))
	return int64(n), err
}

// ReadCredentials reads the line of [Credentials.WriteTo], and no more, so that the reader can be watched for its end.
func ReadCredentials(r *bufio.Reader) (*Credentials, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxCredentialsBytes {
			return nil, fmt.Errorf("the credentials on standard input are longer than %d bytes", maxCredentialsBytes)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, fmt.Errorf("read the credentials from standard input: %w", err)
		}
	}
	var c Credentials
	if err := json.Unmarshal(line, &c); err != nil {
		return nil, fmt.Errorf("the first line on standard input is not the host's credentials: %w", err)
	}
	return &c, nil
}

// newSelfSigned creates a key and a long-lived certificate; the pair is discarded with the instance.
func newSelfSigned(usage x509.ExtKeyUsage) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 128))
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: serverName},
		DNSNames:              []string{serverName},
		NotBefore:             now.Add(-24 * time.Hour), // clocks are set back
		NotAfter:              now.AddDate(50, 0, 0),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{usage},
		BasicConstraintsValid: true,
		IsCA:                  true, // it signs itself, nothing else
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), nil
}
