package serve_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/internal/serve"
	"github.com/picoclaw/picoclaw/sdk/internal/served"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/pluginpolicy"
)

func TestInvalidToolErrorNamesReason(t *testing.T) {
	type badClaim struct {
		P string `json:"p" claim:"execute"`
	}
	type claimedNumber struct {
		N int `json:"n" claim:"read"`
	}
	type badDefault struct {
		N int `json:"n" default:"many"`
	}
	for want, tool := range map[string]sdk.Tool{
		"not one of read":       sdk.NewTool("t", "d", nothing[badClaim], sdk.Traits{}),
		"which is not a string": sdk.NewTool("t", "d", nothing[claimedNumber], sdk.Traits{}),
		"does not fit":          sdk.NewTool("t", "d", nothing[badDefault], sdk.Traits{}),
		"must be a struct":      sdk.NewTool("t", "d", nothing[string], sdk.Traits{}),
		"has no doc":            sdk.NewTool("t", "", nothing[struct{}], sdk.Traits{}),
		"tool name":             sdk.NewTool("T-1", "d", nothing[struct{}], sdk.Traits{}),
	} {
		p := sdk.Plugin{ID: "p", Version: "1", Doc: "d", Tools: []sdk.Tool{tool}}
		if _, err := served.PluginManifest(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v; want it to say %q", err, want)
		}
	}
}

func nothing[In any](context.Context, *sdk.Request[In]) (string, error) { return "", nil }

// A tool of a plugin that was not granted the workspace is refused by what it does with it; it does not fall.
func TestWorkspaceWithoutGrantIsRefused(t *testing.T) {
	for _, test := range []struct {
		asked string
		hint  string
	}{
		{sdk.ReadOnlyWorkspace, "the operator grants it with plugins.p.grants.workspace"},
		{"", "the plugin does not request it; its author must change that"},
	} {
		uses := map[string]func(*sdk.Request[struct{}]) error{
			"read":   func(r *sdk.Request[struct{}]) error { _, err := r.Workspace.ReadFile("a"); return err },
			"write":  func(r *sdk.Request[struct{}]) error { return r.Workspace.WriteFile("a", nil) },
			"list":   func(r *sdk.Request[struct{}]) error { _, err := r.Workspace.ReadDir("."); return err },
			"remove": func(r *sdk.Request[struct{}]) error { return r.Workspace.RemoveTree(t.Context(), "a", false, nil) },
			"scan": func(r *sdk.Request[struct{}]) error {
				return r.Workspace.ScanDirs(t.Context(), ".", func(string, []fs.DirEntry) ([]string, error) { return nil, nil })
			},
			"where it is": func(r *sdk.Request[struct{}]) error {
				if r.Workspace.Dir() != "" || r.Workspace.MaxFileSize() != 0 {
					return errors.New("it is somewhere")
				}
				_, err := r.Workspace.AbsPath("a")
				return err
			},
		}
		p := sdk.Plugin{ID: "p", Version: "1.0.0", Doc: "Tests.", Grants: sdk.Grants{Workspace: test.asked}}
		for name, use := range uses {
			p.Tools = append(p.Tools, sdk.NewTool(name, "Uses the workspace.",
				func(_ context.Context, r *sdk.Request[struct{}]) (string, error) {
					return "", use(r)
				}, sdk.Traits{}))
		}
		s := serve.NewServer(served.ToServePlugin(p), hclog.NewNullLogger())
		configure(t, s, pluginpb.Grant{Workspace: "none"})
		for name := range uses {
			stream := &answers{ctx: t.Context(), request: &pluginpb.CallRequest{Tool: name, Arguments: []byte("{}")}}
			err := s.Call(stream)
			got := stream.result.GetError()
			if err != nil || got.GetCode() != sdk.AccessDenied || got.GetRule() != "grant.workspace" ||
				got.GetHint() != test.hint ||
				got.GetMessage() != "access denied: plugin p is not granted the workspace" {
				t.Errorf("%s: %v, %v", name, err, got)
			}
		}
		if _, err := s.Drain(t.Context(), &pluginpb.DrainRequest{}); err != nil {
			t.Error(err)
		}
	}
}

// configure gives a plugin a policy with a new workspace.
func configure(t *testing.T, s pluginpb.PluginServer, grants pluginpb.Grant) {
	t.Helper()
	policy := pluginpolicy.Policy{Guard: guard.Policy{Workspace: t.TempDir(), Restrict: true}, Grants: grants}
	req, err := policy.ToConfigureRequest()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Configure(t.Context(), req); err != nil {
		t.Fatal(err)
	}
}

// answers is a stream of one call, which keeps its result.
type answers struct {
	grpc.ServerStream
	ctx     context.Context
	request *pluginpb.CallRequest
	result  *pluginpb.Result
}

func (a *answers) Recv() (*pluginpb.CallRequest, error) {
	if a.request == nil {
		return nil, io.EOF
	}
	request := a.request
	a.request = nil
	return request, nil
}

func (a *answers) Context() context.Context { return a.ctx }

func (a *answers) Send(e *pluginpb.CallEvent) error {
	a.result = e.GetResult()
	return nil
}
