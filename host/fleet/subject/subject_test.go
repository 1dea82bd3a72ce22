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

func TestACallHasWhereToAnswer(t *testing.T) {
	for reply, want := range map[string]bool{
		"pc.t.out.a.x": true, "pc.t.out.a.": false, "pc.t.out.b.x": false, "pc.u.out.a.x": false, "": false,
		"$JS.ACK.KV_pc_placement.c.1.1.1.1.0": false,
	} {
		if Genuine("t", "a", reply) != want {
			t.Errorf("%q: want %v", reply, want)
		}
	}
}
