package shell_test

import (
	"testing"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// Whatever passes the check is followed to its end, in both dialects.
func FuzzInterpret(f *testing.F) {
	for _, line := range harmless {
		f.Add(line, false)
		f.Add(line, true)
	}
	for _, line := range bashOnly {
		f.Add(line, false)
	}
	f.Fuzz(func(t *testing.T, text string, posix bool) {
		if shell.Check(text) != nil {
			return
		}
		r := &recorder{}
		shell.Interpret(text, shell.Options{POSIX: posix, Dir: "/w", Env: map[string]string{"HOME": "/h"}}, r)
	})
}
