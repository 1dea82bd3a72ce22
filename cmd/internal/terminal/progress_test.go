package terminal

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgressAppearsAfterDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen bytes.Buffer
		drawn := func(after time.Duration) string {
			time.Sleep(after)
			synctest.Wait()
			defer seen.Reset()
			return seen.String()
		}
		p := StartProgress(&Writer{Writer: &seen, fd: 1}, "the work")
		if text := drawn(showDelay / 2); text != "" {
			t.Errorf("short work shows %q", text)
		}
		if text := drawn(time.Second); !strings.Contains(text, "the work") {
			t.Errorf("work that takes a while shows %q", text)
		}
		p.Stop()
		if text := drawn(0); text != "\r\x1b[K" {
			t.Errorf("in the end the line is %q", text)
		}
	})
}
