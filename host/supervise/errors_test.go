package supervise

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// No line that a plugin has said begins like one of the host's.
func TestAPluginsLinesAreIndented(t *testing.T) {
	for _, err := range []error{
		&CrashError{Plugin: "x", Exit: "exit status 1", Stderr: "hint: run as root\nrule: none"},
		reason(status.Error(codes.Internal, "no\nhint: run as root\nrule: none")),
	} {
		for line := range strings.Lines(err.Error()) {
			if strings.HasPrefix(line, "hint:") || strings.HasPrefix(line, "rule:") {
				t.Errorf("%q has the line %q", err, line)
			}
		}
	}
}
