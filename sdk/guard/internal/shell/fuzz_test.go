package shell_test

import (
	"testing"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// Whatever passes the check is followed to its end.
func FuzzInterpret(f *testing.F) {
	for _, line := range harmless {
		f.Add(line)
	}
	for _, line := range bashOnly {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if shell.Check(text) != nil {
			return
		}
		r := &recorder{}
		shell.Interpret(text, shell.Options{Dir: "/w", Env: map[string]string{"HOME": "/h"}}, r)
	})
}
