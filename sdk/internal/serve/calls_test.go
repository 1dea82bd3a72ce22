package serve_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/internal/serve"
	"github.com/picoclaw/picoclaw/sdk/internal/served"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// conversation is a stream of calls.
type conversation struct {
	grpc.ServerStream
	ctx      context.Context
	requests chan *pluginpb.CallRequest
	events   chan *pluginpb.CallEvent
}

func (c *conversation) Context() context.Context { return c.ctx }

func (c *conversation) Send(e *pluginpb.CallEvent) error {
	c.events <- e
	return nil
}

func (c *conversation) Recv() (*pluginpb.CallRequest, error) {
	if r, more := <-c.requests; more {
		return r, nil
	}
	return nil, io.EOF
}

// converse serves a tool to f, on one stream.
func converse(t *testing.T, tool sdk.Tool, f func(c *conversation)) {
	t.Helper()
	s := serve.NewServer(served.ToServePlugin(sdk.Plugin{ID: "p", Version: "1.0.0", Doc: "Tests.", Tools: []sdk.Tool{tool}}),
		hclog.NewNullLogger())
	configure(t, s, pluginpb.Grant{})
	synctest.Test(t, func(t *testing.T) {
		c := &conversation{ctx: t.Context(), requests: make(chan *pluginpb.CallRequest, 8),
			events: make(chan *pluginpb.CallEvent, 64)}
		ended := make(chan error, 1)
		go func() { ended <- s.Call(c) }()
		f(c)
		close(c.requests)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// The time that a person thinks is not the call's, but that of the tool, which may have less of it.
func TestTimeoutPausesDuringQuestion(t *testing.T) {
	tool := sdk.NewTool("ask", "Asks.", func(ctx context.Context, req *sdk.Request[struct{}]) (string, error) {
		impatient, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
		_, gaveUp := req.Ask(impatient, "first", &jsonschema.Schema{Type: "object"})
		answer, err := req.Ask(ctx, "second", &jsonschema.Schema{Type: "object"})
		return fmt.Sprintf("%v, %s %s, %v", gaveUp, answer.Action, answer.Values, ctx.Err()), err
	}, sdk.Traits{})
	converse(t, tool, func(c *conversation) {
		for range 2 {
			c.requests <- &pluginpb.CallRequest{Tool: "ask", Arguments: []byte(`{}`), TimeoutMillis: 1000, Answers: true}
			first := (<-c.events).GetQuestion()
			second := (<-c.events).GetQuestion()
			time.Sleep(time.Hour) // of the test's own clock
			c.requests <- &pluginpb.CallRequest{Answer: &pluginpb.Answer{Id: first.GetId(), Action: "accept",
				Content: []byte(`{"late":1}`)}}
			c.requests <- &pluginpb.CallRequest{Answer: &pluginpb.Answer{Id: second.GetId(), Action: "accept",
				Content: []byte(`{}`)}}
			// nobody waits for it
			c.requests <- &pluginpb.CallRequest{Answer: &pluginpb.Answer{Id: second.GetId(), Action: "decline"}}
			if got := (<-c.events).GetResult(); got.GetText() != "wait for a person's answer: context deadline exceeded, accept {}, <nil>" {
				t.Errorf("%v", got)
			}
		}
	})
}

// What a tool logs from info on goes to its caller too, with what belongs to it.
func TestLogRecordsReachCaller(t *testing.T) {
	tool := sdk.NewTool("log", "Logs.", func(_ context.Context, req *sdk.Request[struct{}]) (string, error) {
		req.Log.Debug("not this")
		req.Log.Info("plain")
		log := req.Log.With("a", 1).WithGroup("g")
		log.Warn("with more", "b", errors.New("wrong"), slog.Group("deep", "c", time.Second), "odd", make(chan int))
		req.Log.Error("bad \xff")
		return "logged", nil
	}, sdk.Traits{})
	converse(t, tool, func(c *conversation) {
		c.requests <- &pluginpb.CallRequest{Tool: "log", Arguments: []byte(`{}`)}
		plain, more, bad := (<-c.events).GetLog(), (<-c.events).GetLog(), (<-c.events).GetLog()
		if plain.GetMessage() != "plain" || plain.GetLevel() != pluginpb.Log_LEVEL_INFO || plain.GetAttributes() != nil {
			t.Errorf("%v", plain)
		}
		if more.GetLevel() != pluginpb.Log_LEVEL_WARNING || len(more.GetAttributes()) == 0 ||
			string(more.GetAttributes()[:40]) != `{"a":1,"g.b":"wrong","g.deep.c":"1s","g.` {
			t.Errorf("%v", more)
		}
		if bad.GetLevel() != pluginpb.Log_LEVEL_ERROR || bad.GetMessage() != "bad \uFFFD" {
			t.Errorf("%v", bad)
		}
		if got := (<-c.events).GetResult(); got.GetText() != "logged" {
			t.Errorf("%v", got)
		}
	})
}
