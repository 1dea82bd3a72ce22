package terminal

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// While a person is asked, the line is away, and nothing is drawn over the question; it comes back behind the last
// answer.
func TestProgressWaitsForAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen bytes.Buffer
		drawn := func(after time.Duration) string {
			time.Sleep(after)
			synctest.Wait()
			defer seen.Reset()
			return seen.String()
		}
		p := StartProgress(&Writer{Writer: &seen, fd: 1}, "the work")
		if text := drawn(time.Second); !strings.Contains(text, "the work") {
			t.Errorf("work that takes a while shows %q", text)
		}
		first, second := p.Pause(), p.Pause()
		if text := drawn(0); text != "\r\x1b[K" {
			t.Errorf("when a question is put the line is %q", text)
		}
		first()
		if text := drawn(time.Minute); text != "" {
			t.Errorf("while a question is open %q is drawn", text)
		}
		second()
		if text := drawn(time.Second); !strings.Contains(text, "the work") {
			t.Errorf("after the answers %q is drawn", text)
		}
		p.Stop()
		if text := drawn(0); text != "\r\x1b[K" {
			t.Errorf("in the end the line is %q", text)
		}
	})
}
