//go:build linux

package supervise

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// A process that has found a plugin's socket, as the same user, gets no answer to anything: not without TLS, not with
// a key of its own, not with the certificates that the right parties use.
func TestCallRequiresSecret(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.call(f.spec(), "pid", nil)
		var in *pluginInstance
		for _, sl := range f.instances {
			in = sl.instance
		}
		socket := findSocket(t, f.home)

		_, foreign, err := pluginpb.NewCredentials()
		if err != nil {
			t.Fatal(err)
		}
		// This one has seen the handshake and knows the plugin's certificate, but holds no key of the host's.
		knowing := foreign.Clone()
		knowing.RootCAs = in.hostTLS.RootCAs
		keyless := knowing.Clone()
		keyless.Certificates = nil
		for name, c := range map[string]credentials.TransportCredentials{
			"without TLS":                          insecure.NewCredentials(),
			"with a key of its own":                credentials.NewTLS(foreign),
			"with the plugin's certificate pinned": credentials.NewTLS(knowing),
			"without a certificate":                credentials.NewTLS(keyless),
		} {
			if err := describe(t, socket, c); err == nil {
				t.Errorf("somebody %s can call the plugin", name)
			}
		}
		if err := describe(t, socket, credentials.NewTLS(in.hostTLS)); err != nil {
			t.Errorf("the holder of the secret can't call: %v", err)
		}
	})
}

func TestCredentialsDifferPerStart(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.call(f.spec(), "pid", nil)
		f.call(f.spec("OTHER=1"), "pid", nil)
		seen := make(map[string]bool)
		connects := 0
		socket := findSocket(t, f.home)
		for _, sl := range f.instances {
			c := sl.instance.runner.credentials
			for _, part := range []string{c.Key, c.Certificate, c.Host} {
				if seen[part] {
					t.Error("two starts share a key or certificate")
				}
				seen[part] = true
			}
			if describe(t, socket, credentials.NewTLS(sl.instance.hostTLS)) == nil {
				connects++
			}
		}
		if len(seen) != 6 || connects != 1 {
			t.Errorf("%d keys and certificates for two starts; those of %d starts connect to one plugin", len(seen), connects)
		}
	})
}

// The secret is in no place that another process can look into: not in the environment, not on the command line.
func TestSecretIsNotInEnvironment(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		env := f.call(f.spec(), "environ", nil).GetText()
		for _, sl := range f.instances {
			c := sl.instance.runner.credentials
			for _, secret := range []string{c.Key, c.Certificate, c.Host} {
				if containsAnyLine(env, secret) {
					t.Error("a part of the credentials is in the environment")
				}
			}
		}
	})
}

func containsAnyLine(text, pem string) bool {
	const inside = 40 // past the header, which all share
	return strings.Contains(text, pem[inside:inside+20])
}

func describe(t *testing.T, socket string, c credentials.TransportCredentials) error {
	t.Helper()
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(c), grpc.WithAuthority("picoclaw-instance"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err = pluginpb.NewPluginClient(conn).Describe(ctx, &pluginpb.DescribeRequest{})
	return err
}

func findSocket(t *testing.T, home string) string {
	t.Helper()
	socket := ""
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type() == os.ModeSocket {
			socket = path
		}
		return err
	})
	if err != nil || socket == "" {
		t.Fatalf("no socket below %s (%v)", home, err)
	}
	return socket
}
