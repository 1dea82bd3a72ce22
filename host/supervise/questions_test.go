//go:build linux

package supervise

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

func TestQuestionWithoutListener(t *testing.T) {
	each(t, func(_ *testing.T, f *fixture) {
		if e := f.call(f.spec(), "ask", nil).GetError(); e.GetCode() != pluginpb.CodeNobodyToAsk ||
			!strings.Contains(e.GetMessage(), "no person can be asked") {
			t.Errorf("%v", e)
		}
	})
}

// Each question gets its answer, and the stream goes on with other calls.
func TestQuestionsAreAnswered(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		spec := f.spec()
		for range 3 {
			asked := 0
			out, err := f.Call(t.Context(), spec, request(t, "ask", nil),
				CallCallbacks{Answer: func(q *pluginpb.Question) *pluginpb.Answer {
					if asked++; q.GetMessage() != "And now?" || string(q.GetSchema()) != `{"type":"object"}` || asked > 2 {
						return &pluginpb.Answer{Action: "decline"}
					}
					return &pluginpb.Answer{Action: "accept", Content: fmt.Appendf(nil, `{"n":%d}`, asked)}
				}})
			if err != nil || out.GetText() != `{"n":1} {"n":2} decline` {
				t.Errorf("%v, %v", out, err)
			}
			f.call(spec, "pid", nil)
		}
		out, err := f.Call(t.Context(), spec, request(t, "ask", nil),
			CallCallbacks{Answer: func(*pluginpb.Question) *pluginpb.Answer {
				return &pluginpb.Answer{Error: "the person has left"}
			}})
		if err != nil || out.GetError().GetMessage() != "no person can be asked: the person has left" {
			t.Errorf("%v, %v", out, err)
		}
	})
}

// A call that is cancelled while a person thinks ends.
func TestCallCancelledDuringQuestion(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := f.Call(ctx, f.spec(), request(t, "ask", nil), CallCallbacks{Answer: func(*pluginpb.Question) *pluginpb.Answer {
			cancel()
			return &pluginpb.Answer{}
		}})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		f.call(f.spec(), "pid", nil)
	})
}
