package host

import (
	"net"
	"testing"
)

// A session at a socket is for whoever can read the token beside it.
func TestSocketRequiresToken(t *testing.T) {
	for text, want := range map[string]bool{
		"ABCDEF\n": true, "ABCDEG\n": false, "ABCDEF ": false, "{\"jsonrpc\":\"2.0\"}\n": false, "ABC": false, "": false,
	} {
		ours, theirs := net.Pipe()
		go func() {
			_, _ = theirs.Write([]byte(text))
			if !want {
				_ = theirs.Close() // whoever is let in goes on
			}
		}()
		if got := receivesToken(ours, "ABCDEF"); got != want {
			t.Errorf("%q is let in: %v", text, got)
		}
		_, _ = ours.Close(), theirs.Close()
	}
}
