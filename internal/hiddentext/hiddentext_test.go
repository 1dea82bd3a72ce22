package hiddentext

import "testing"

func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"plain, ümläut, 漢字, 😀\n\ta": "plain, ümläut, 漢字, 😀\n\ta",
		"a\u200bb":                  `a\u200bb`,                  // zero width space
		"a\u200db\u2060c\ufeff":     `a\u200db\u2060c\ufeff`,     // joiners, byte order mark
		"x\u202egpj\u2069":          `x\u202egpj\u2069`,          // direction
		"soft\u00adhyphen":          `soft\u00adhyphen`,          // seen at line ends only
		"a\u3164b\ufe0fc":           `a\u3164b\ufe0fc`,           // a filler, a variation selector
		"tag\U000e0041":             `tag\U000e0041`,             // tags spell whole texts
		"\x1b[2Jb\x00\u0085":        `\x1b[2Jb\x00\u0085`,        // terminal commands
		"line\u2028paragraph\u2029": `line\u2028paragraph\u2029`, // separators
		"private \ue000\U000f0000":  `private \ue000\U000f0000`,  // for private use
	} {
		if got := Escape(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}
