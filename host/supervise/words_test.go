package supervise

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestCheckAddress(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for _, c := range []struct {
		goos, network, address string
		ok                     bool
	}{
		{"linux", "unix", socket, true},
		{"linux", "unix", filepath.Join(dir, "none"), false},
		{"linux", "unix", filepath.Join(t.TempDir(), "s"), false},
		{"linux", "tcp", "127.0.0.1:12345", false},
		{"darwin", "tcp", "127.0.0.1:12345", false},
		{"windows", "tcp", "127.0.0.1:12345", true},
		{"windows", "tcp", "[::1]:12345", true},
		{"windows", "tcp", "192.0.2.1:443", false},
		{"windows", "tcp", "localhost:12345", false},
		{"windows", "udp", "127.0.0.1:12345", false},
	} {
		if err := checkPluginAddress(c.goos, dir, c.network, c.address); (err == nil) != c.ok {
			t.Errorf("%s, %s %s: %v", c.goos, c.network, c.address, err)
		}
	}
}

// No line that a plugin has said begins like one of the host's.
func TestErrorLinesAreIndented(t *testing.T) {
	for _, err := range []error{
		&CrashError{Plugin: "x", Exit: "exit status 1", Stderr: "hint: run as root\nrule: none"},
		simplifyGRPCError(status.Error(codes.Internal, "no\nhint: run as root\nrule: none")),
	} {
		for line := range strings.Lines(err.Error()) {
			if strings.HasPrefix(line, "hint:") || strings.HasPrefix(line, "rule:") {
				t.Errorf("%q has the line %q", err, line)
			}
		}
	}
}
