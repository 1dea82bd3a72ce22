package sdk

import (
	"testing"

	"github.com/picoclaw/picoclaw/sdk/internal/serve"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

func TestOutputReachesReadingCaller(t *testing.T) {
	t.Parallel()
	for _, unread := range []bool{false, true} {
		sent := 0
		r := Request[struct{}]{call: &serve.ToolCall{NoOutput: unread, Emit: func(*pluginpb.CallEvent) { sent++ }}}
		r.SendStdout([]byte("a"))
		r.SendStderr([]byte("b"))
		if want := map[bool]int{false: 2, true: 0}[unread]; sent != want {
			t.Errorf("with NoOutput %v: %d events, want %d", unread, sent, want)
		}
	}
}
