package sdktest_test

import (
	"testing"

	"github.com/picoclaw/picoclaw/sdk/sdktest"
)

func TestRun(t *testing.T) { sdktest.Run(t, counter(), cases()...) }

// A test that needs more than a case holds calls a running plugin.
func TestStart(t *testing.T) {
	p := sdktest.Start(t, counter(), sdktest.Options{Files: map[string]string{"poem": "roses\n"}})
	for range 2 {
		if r := p.Call("count", map[string]any{"path": "poem"}); r.Err != nil ||
			string(r.Structured) != `{"count":1,"unit":"lines"}` {
			t.Errorf("%s %v", r.Structured, r.Err)
		}
	}
}
