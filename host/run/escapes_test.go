package run

import (
	"bytes"
	"strings"
	"testing"
)

func TestEscapesBeyondTerminalAreDropped(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	for in, want := range map[string]string{
		"plain \x1b[31mred\x1b[0m \xff\xfe ö": "plain \x1b[31mred\x1b[0m \xff\xfe ö",
		"\x1b]52;c;?\a.":                      ".",
		"\x1b]52;c;?0\a.":                     ".",
		"\x1b]52;c;aGk=\a.":                   "\x1b]52;c;aGk=\a.",
		"\x1b]52;c;" + strings.Repeat("A", maxClipboard+1) + "\x1b\\.": ".",
		"\x1b]0;title\a":                       "\x1b]0;title\a",
		"\x1b]2;" + long + "\x1b\\":            "\x1b]2;" + long[:maxTitle+1] + "\x1b\\",
		"\x1b]2;a\x9c\x01b\a":                  "\x1b]2;a\ufffdb\a",
		"\x1b]1337;File=name=eA==:eA==\a.":     ".",
		"\x1b[21t.":                            ".",
		"\x1b]8;;https://example.com\x1b\\x\a": "\x1b]8;;https://example.com\x1b\\x\a",
		"\x1b]11;?\a":                          "\x1b]11;?\a",
		"\x1bPq#0\x1b\\":                       "\x1bPq#0\x1b\\",
		"\x1b\x1b[A":                           "\x1b\x1b[A",
		"\x1b]2;" + strings.Repeat("x", maxCommand+1) + "\a.": ".",
	} {
		var whole, single terminalEscapeFilter
		if got := string(whole.filterOutput([]byte(in))); got != want {
			t.Errorf("%.60q: passed on %.60q, want %.60q", in, got, want)
		}
		var bytewise []byte
		for i := range len(in) {
			bytewise = append(bytewise, single.filterOutput([]byte{in[i]})...)
		}
		if string(bytewise) != want {
			t.Errorf("%.60q byte by byte: passed on %.60q, want %.60q", in, bytewise, want)
		}
	}
}

func TestPrivateModesAreReset(t *testing.T) {
	t.Parallel()
	var f terminalEscapeFilter
	f.filterOutput([]byte("\x1b[?1049h\x1b[?25l\x1b[?1000;1006h\x1b[?1000l\x1b]2;half"))
	if got, want := string(f.modeResetSequences()), "\x18\x1b[?1006l\x1b[?25h\x1b[?1049l\x1b[0m"; got != want {
		t.Errorf("reset is %q, want %q", got, want)
	}
	if got := string(f.modeResetSequences()); !strings.HasSuffix(got, "\x1b[0m") || strings.Contains(got, "?") {
		t.Errorf("a second reset is %q", got)
	}
}

func TestWarningStaysInTitle(t *testing.T) {
	t.Parallel()
	var f terminalEscapeFilter
	f.filterOutput([]byte("\x1b]2;vim\a"))
	if got := string(f.setTitlePrefix("[1 refused] ")); got != "\x1b]2;[1 refused] vim\a" {
		t.Errorf("%q", got)
	}
	if got := string(f.filterOutput([]byte("\x1b]0;emacs\a"))); got != "\x1b]0;[1 refused] emacs\a" {
		t.Errorf("%q", got)
	}
}

// However output is split, the same is passed on, and text without escapes is unchanged.
func FuzzEscapeFilter(f *testing.F) {
	for _, seed := range []string{"text", "\x1b]52;c;?\a", "\x1b[?25l", "\x1b]2;t\x1b\\", "\x1b\x1b", "\x1b]2;\x1b]52;c;?\a"} {
		f.Add([]byte(seed), uint8(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, at uint8) {
		var whole, split terminalEscapeFilter
		want := bytes.Clone(whole.filterOutput(data))
		cut := min(int(at), len(data))
		got := append(bytes.Clone(split.filterOutput(data[:cut])), split.filterOutput(data[cut:])...)
		if !bytes.Equal(got, want) {
			t.Errorf("%q cut at %d: %q, whole %q", data, cut, got, want)
		}
		if bytes.IndexByte(data, escape) < 0 && !bytes.Equal(want, data) {
			t.Errorf("%q became %q", data, want)
		}
		if bytes.Contains(want, []byte("\x1b]52;c;?")) {
			t.Errorf("%q reads the clipboard", want)
		}
	})
}
