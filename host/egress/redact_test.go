package egress

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

func TestRedactReader(t *testing.T) {
	red := redactor{}.withSecret("secretAA", "dummy-AA").withSecret("secretAABB", "dummy-AABB").withSecret("abababac", "dummyabc")
	for text, want := range map[string]string{
		"":                       "",
		"x secretAA y":           "x dummy-AA y",
		"x secretAABB y":         "x dummy-AABB y",
		"secretAsecretAA":        "secretAdummy-AA",
		"abababababac.":          "ababdummyabc.",
		"secretAA":               "dummy-AA",
		"secretAAsecretAA":       "dummy-AAdummy-AA",
		"ends in secretA":        "ends in secretA",
		"ssecretAAB":             "sdummy-AAB",
		"s\x00secretAABBsecretA": "s\x00dummy-AABBsecretA",
	} {
		for kind, r := range map[string]io.Reader{
			"whole": strings.NewReader(text), "by bytes": iotest.OneByteReader(strings.NewReader(text)),
			"halves": iotest.HalfReader(strings.NewReader(text)), "end": iotest.DataErrReader(strings.NewReader(text)),
		} {
			got, err := io.ReadAll(iotest.OneByteReader(red.newRedactingReader(r)))
			if err != nil || string(got) != want {
				t.Errorf("%s %q: %q, %v, want %q", kind, text, got, err, want)
			}
		}
	}
}

// TestRedactAtOnce shows that nothing is held back but what may be the beginning of a value.
func TestRedactAtOnce(t *testing.T) {
	from, to := io.Pipe()
	r := redactor{}.withSecret("secretAA", "dummy-AA").newRedactingReader(from)
	buf := make([]byte, 100)
	for _, step := range [][2]string{{"data: 1\n\n", "data: 1\n\n"}, {"xsec", "x"}, {"retAA!", "dummy-AA!"}, {"a", "a"}} {
		go func() { _, _ = io.WriteString(to, step[0]) }()
		if n, err := r.Read(buf); string(buf[:n]) != step[1] || err != nil {
			t.Fatalf("after %q: %q, %v", step[0], buf[:n], err)
		}
	}
}

func TestRedactHeader(t *testing.T) {
	h := http.Header{"X-Secretaa": {"a"}, "Y": {"v secretAA", "secretAAsecretAA"}}
	redactor{}.withSecret("secretAA", "dummy-AA").redactHeader(h)
	var b bytes.Buffer
	_ = h.Write(&b)
	if strings.Contains(strings.ToLower(b.String()), "secret") {
		t.Error(b.String())
	}
}

func TestRedactLong(t *testing.T) {
	value, dummy := strings.Repeat("v", 100_000)+"!", strings.Repeat("d", 100_001)
	got, err := io.ReadAll(redactor{}.withSecret(value, dummy).newRedactingReader(strings.NewReader("<" + value + ">")))
	if err != nil || string(got) != "<"+dummy+">" {
		t.Error(len(got), err)
	}
}
