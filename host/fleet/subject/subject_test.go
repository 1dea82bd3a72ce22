package subject

import (
	"strings"
	"testing"
)

func FuzzTokensAreOneToOne(f *testing.F) {
	for _, name := range []string{"main", "a.b", "*", ">", "ä b", "=2e", ""} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		token := Token(name)
		if strings.ContainsAny(token, ".*> \t\r\n") {
			t.Errorf("%q becomes %q, which is no token", name, token)
		}
		back, ok := Name(token)
		if ok != (name != "") || back != name {
			t.Errorf("%q becomes %q, which is %q", name, token, back)
		}
		if of, ok := Name(name); ok && Token(of) != name {
			t.Errorf("%q is read as %q", name, of)
		}
	})
}
