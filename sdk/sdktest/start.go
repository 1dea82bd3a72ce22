package sdktest

import (
	"context"
	"encoding/json"
	"net"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/internal/serve"
	"github.com/picoclaw/picoclaw/sdk/internal/served"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/pluginpolicy"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

// Options configure a plugin under test. The zero value is an empty, restricted workspace and all requested
// permissions.
type Options struct {
	// Files are written into the workspace first: slash-separated names to contents.
	Files map[string]string
	// Policy modifies the policy before the plugin receives it.
	Policy func(*guard.Policy)
	// Config is the operator's configuration of the plugin, encoded as JSON.
	Config any
	// StateDir is the plugin's own directory, if it requests one; empty for a new one.
	StateDir string
	// Takeback is the undo store, if the plugin requests one. An empty Dir is replaced by a new directory.
	Takeback undo.StoreOptions
	// Answer answers the tool's questions to a person; nil if nobody can be asked.
	Answer func(message string, form json.RawMessage) sdk.Answer
}

// Plugin is a running plugin under test.
type Plugin struct {
	Dir string // its workspace

	t       testing.TB
	client  pluginpb.PluginClient
	answer  func(message string, form json.RawMessage) sdk.Answer
	readers map[string]*pluginpb.ArgumentParser
}

// Result is the result of a call: text, structured form or error, with the events of the call.
type Result struct {
	Text       string
	Structured json.RawMessage
	Content    []sdk.Content   // all blocks in order, if there are others than text
	Undo       string          // the undo id of the call's changes; empty for none
	Err        *pluginpb.Error // nil if the call succeeded
	Output     []byte          // output events during the call
	Progress   []*pluginpb.Progress
	Log        []*pluginpb.Log // log records from Info on
}

// Start runs a plugin until the end of the test.
func Start(t testing.TB, p sdk.Plugin, o Options) *Plugin {
	t.Helper()
	manifest, err := served.PluginManifest(p)
	if err != nil {
		t.Fatalf("the plugin can't be used: %v", err)
	}
	server := serve.NewServer(served.ToServePlugin(p), hclog.NewNullLogger())
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, dir, o.Files)
	s := &Plugin{
		Dir: dir, t: t, answer: o.Answer,
		client: connectInMemory(t, server), readers: map[string]*pluginpb.ArgumentParser{},
	}
	for kind, specs := range map[string][]pluginpb.ToolSpec{pluginpb.ToolKind: manifest.Tools, pluginpb.ResourceKind: manifest.Resources,
		pluginpb.PromptKind: manifest.Prompts} {
		for _, spec := range specs {
			if s.readers[pluginpb.CallNamePrefix(kind)+spec.Name], _, err = spec.CompileInputSchema(); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.sendConfigure(manifest, o)
	return s
}

func connectInMemory(t testing.TB, server pluginpb.PluginServer) pluginpb.PluginClient {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	s := grpc.NewServer(grpc.MaxRecvMsgSize(pluginpb.MaxMessageBytes), grpc.MaxSendMsgSize(pluginpb.MaxMessageBytes))
	pluginpb.RegisterPluginServer(s, server)
	go func() { _ = s.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:plugin",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(pluginpb.MaxMessageBytes), grpc.MaxCallSendMsgSize(pluginpb.MaxMessageBytes)))
	if err != nil {
		t.Fatal(err)
	}
	client := pluginpb.NewPluginClient(conn)
	t.Cleanup(func() {
		_, _ = client.Drain(context.Background(), &pluginpb.DrainRequest{})
		_ = conn.Close()
		s.Stop()
	})
	return client
}

func (s *Plugin) sendConfigure(m *pluginpb.Manifest, o Options) {
	s.t.Helper()
	policy := guard.Policy{Workspace: s.Dir, Restrict: true, Exec: guard.ExecPolicy{DenyPatterns: true}}
	if o.Policy != nil {
		o.Policy(&policy)
	}
	p := pluginpolicy.Policy{Guard: policy, Grants: m.Grants}
	if m.Grants.State {
		if p.StateDir = o.StateDir; p.StateDir == "" {
			p.StateDir = s.t.TempDir()
		}
	}
	if m.Grants.Takeback {
		if o.Takeback.Dir == "" {
			o.Takeback.Dir = s.t.TempDir()
		}
		p.Undo = o.Takeback
	}
	if o.Config != nil {
		config, err := json.Marshal(o.Config)
		if err != nil {
			s.t.Fatal(err)
		}
		p.Config = config
	}
	req, err := p.ToConfigureRequest()
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.client.Configure(s.t.Context(), req); err != nil {
		s.t.Fatalf("configure: %v", err)
	}
}

// Call calls a tool. args are JSON text ([]byte or string) or a value to encode as JSON. They are validated against the
// tool's schema, as by a host.
func (s *Plugin) Call(tool string, args any) Result {
	s.t.Helper()
	return s.CallContext(s.t.Context(), tool, args)
}

// CallContext is [Plugin.Call] with a context that can cancel the call.
func (s *Plugin) CallContext(ctx context.Context, tool string, args any) Result {
	s.t.Helper()
	reader := s.readers[tool]
	if reader == nil {
		s.t.Fatalf("the plugin has no tool %q", tool)
	}
	raw, err := encodeJSON(args)
	if err != nil {
		s.t.Fatal(err)
	}
	arguments, err := reader.Read(raw)
	if err != nil {
		return Result{Err: &pluginpb.Error{Code: sdk.InvalidArgument, Message: err.Error()}}
	}
	stream, err := s.client.Call(ctx)
	if err == nil {
		err = stream.Send(&pluginpb.CallRequest{Tool: tool, Arguments: arguments.Canonical, Answers: s.answer != nil})
	}
	if err != nil {
		s.t.Fatalf("call %s: %v", tool, err)
	}
	defer func() { _ = stream.CloseSend() }()
	var r Result
	for {
		event, err := stream.Recv()
		if err != nil {
			if ctx.Err() != nil {
				return Result{Err: &pluginpb.Error{Code: sdk.Cancelled, Message: err.Error()}}
			}
			s.t.Fatalf("call %s: %v", tool, err)
		}
		switch e := event.GetEvent().(type) {
		case *pluginpb.CallEvent_Progress:
			r.Progress = append(r.Progress, e.Progress)
		case *pluginpb.CallEvent_Output:
			r.Output = append(r.Output, e.Output.GetData()...)
		case *pluginpb.CallEvent_Log:
			r.Log = append(r.Log, e.Log)
		case *pluginpb.CallEvent_Question:
			said := s.answer(e.Question.GetMessage(), e.Question.GetSchema())
			// What ends the stream is told by Recv.
			answer := &pluginpb.Answer{Id: e.Question.GetId(), Action: said.Action, Content: said.Values}
			_ = stream.Send(&pluginpb.CallRequest{Answer: answer})
		case *pluginpb.CallEvent_Result:
			for _, b := range e.Result.ContentBlocks() {
				r.Content = append(r.Content, sdk.Content{
					Text: b.GetText(), Data: b.GetData(), MediaType: b.GetMediaType(), URI: b.GetUri(),
				})
			}
			r.Text, r.Structured, r.Err = e.Result.AgentText(), e.Result.GetStructured(), e.Result.GetError()
			r.Undo = e.Result.GetUndo()
			return r
		}
	}
}
