//go:build linux

package python_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Whoever finds the socket of a running plugin gets nowhere without the key of its host. The test plays the host, so
// that it can show that nothing but the key makes the difference.
func TestNobodyButTheHostConnects(t *testing.T) {
	given, host, err := pluginpb.NewCredentials()
	if err != nil {
		t.Fatal(err)
	}
	_, another, err := pluginpb.NewCredentials()
	if err != nil {
		t.Fatal(err)
	}
	socket := introduce(t, given)
	without := host.Clone()
	without.Certificates = nil
	stranger := host.Clone()
	stranger.Certificates = another.Certificates
	for _, tt := range []struct {
		name    string
		config  *tls.Config
		answers bool
	}{
		{"the host", host, true},
		{"nobody", without, false},
		{"the host of another plugin", stranger, false},
		{"the host, again", host, true},
	} {
		if err := describe(t, socket, tt.config); (err == nil) != tt.answers {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// introduce starts the plugin as a host does and returns its socket.
func introduce(t *testing.T, given *pluginpb.TLSCredentials) string {
	t.Helper()
	dir := hosttest.TempDir(t)
	handshake := pluginpb.HandshakeConfig()
	cmd := exec.Command(hosttest.ProgramPath("python/words/words"))
	cmd.Env = []string{handshake.MagicCookieKey + "=" + handshake.MagicCookieValue, "PLUGIN_PROTOCOL_VERSIONS=2",
		"PLUGIN_UNIX_SOCKET_DIR=" + dir}
	cmd.Stderr = t.Output()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close() // the lifeline
		_ = cmd.Wait()
	})
	if _, err := given.WriteTo(stdin); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	socket := filepath.Join(dir, "plugin.sock")
	if want := fmt.Sprintf("1|2|unix|%s|grpc\n", socket); err != nil || line != want {
		t.Fatalf("the handshake is %q (%v), want %q", line, err, want)
	}
	return socket
}

// describe asks the plugin what it is.
func describe(t *testing.T, socket string, config *tls.Config) error {
	t.Helper()
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(credentials.NewTLS(config)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err = pluginpb.NewPluginClient(conn).Describe(ctx, &pluginpb.DescribeRequest{})
	return err
}
