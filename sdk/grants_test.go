package sdk

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// A tool of a plugin that was not granted the workspace is refused by what it does with it; it does not fall.
func TestAWorkspaceThatIsNotGranted(t *testing.T) {
	for _, test := range []struct {
		asked WorkspaceGrant
		hint  string
	}{
		{ReadOnlyWorkspace, "the operator grants it with plugins.p.grants.workspace"},
		{"", "the plugin does not ask for it: that is for its author to change"},
	} {
		uses := map[string]func(*Request[struct{}]) error{
			"read":   func(r *Request[struct{}]) error { _, err := r.Workspace.ReadFile("a"); return err },
			"write":  func(r *Request[struct{}]) error { return r.Workspace.WriteFile("a", nil) },
			"list":   func(r *Request[struct{}]) error { _, err := r.Workspace.ReadDir("."); return err },
			"remove": func(r *Request[struct{}]) error { return r.Workspace.RemoveEmpty("a") },
			"scan": func(r *Request[struct{}]) error {
				return r.Workspace.Scan(t.Context(), ".", func(string, []fs.DirEntry) ([]string, error) { return nil, nil })
			},
			"where it is": func(r *Request[struct{}]) error {
				if r.Workspace.Dir() != "" || r.Workspace.MaxFileSize() != 0 {
					return errors.New("it is somewhere")
				}
				_, err := r.Workspace.Abs("a")
				return err
			},
		}
		p := Plugin{ID: "p", Version: "1.0.0", Doc: "Tests.", Grants: Grants{Workspace: test.asked}}
		for name, use := range uses {
			p.Tools = append(p.Tools, NewTool(name, "Uses the workspace.", func(_ context.Context, r *Request[struct{}]) (string, error) {
				return "", use(r)
			}))
		}
		s := newService(p, hclog.NewNullLogger())
		policy := pluginpb.NewPolicy(guard.Policy{Workspace: t.TempDir(), Restrict: true})
		if _, err := s.Configure(t.Context(), &pluginpb.ConfigureRequest{Policy: policy, Grants: &pluginpb.Grants{Workspace: "none"}}); err != nil {
			t.Fatal(err)
		}
		for name := range uses {
			var got *pluginpb.Error
			err := s.answer(t.Context(), &pluginpb.CallRequest{Tool: name, Arguments: []byte("{}")}, func(e *pluginpb.CallEvent) error {
				got = e.GetResult().GetError()
				return nil
			})
			if err != nil || got.GetCode() != AccessDenied || got.GetRule() != "grant.workspace" || got.GetHint() != test.hint ||
				got.GetMessage() != "access denied: plugin p is not granted the workspace" {
				t.Errorf("%s: %v, %v", name, err, got)
			}
		}
		s.stop(t.Context())
	}
}
