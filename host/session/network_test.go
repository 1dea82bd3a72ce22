//go:build linux

package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/approvals"
	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

func TestNetworkAskAsksPerson(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "hello from "+r.Host)
	}))
	t.Cleanup(server.Close)
	place := "web.test" + server.URL[strings.LastIndexByte(server.URL, ':'):]
	home := hosttest.TempDir(t)
	settings := fmt.Sprintf(`{"isolation": {"enabled": true},
"network": {"ask": [%q], "hosts": {"web.test": ["127.0.0.1"]}}}`, place)
	if err := os.WriteFile(filepath.Join(home, "config.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.LoadOptions{Environ: []string{"HOME=" + home, "PICOCLAW_HOME=" + home}})
	if err != nil {
		t.Fatal(err)
	}
	later := &answering{Queue: approvals.NewQueue(home, time.Hour), home: home}
	h, err := session.OpenHost(session.HostOptions{Config: cfg, PluginDir: filepath.Join(hosttest.ProgramDir(), "plugins"), Approvals: later})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	s, err := h.OpenSession("", session.Main)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(map[string]any{"command": fmt.Sprintf("curl -sS http://%s; curl -sS http://%[1]s", place)})
	if err != nil {
		t.Fatal(err)
	}
	refused := fmt.Sprintf("[network: refused %s without approval; setting network.ask]", place)
	for _, test := range []struct {
		who  string
		want string
		not  string
	}{{"nobody", refused, "hello"}, {"agrees", "hello from " + place, refused}, {"declines", refused, "hello"},
		{"agrees later", "hello from " + place, refused}} {
		ctx, asked := t.Context(), 0
		if later.on = test.who == "agrees later"; !later.on && test.who != "nobody" {
			ctx = session.WithApprovalAsker(ctx, func(_ context.Context, q session.ApprovalQuestion) bool {
				asked++
				if q.Tool != "network" || q.Args["host"] != "web.test" || q.Decision.Verdict != guard.Ask ||
					!strings.Contains(q.Decision.Reason, place) {
					t.Errorf("asked %+v", q)
				}
				return test.who == "agrees"
			})
		}
		r := s.Call(ctx, "exec", raw, nil)
		if !strings.Contains(r.Text, test.want) || strings.Contains(r.Text, test.not) {
			t.Errorf("%s: %s %v", test.who, r.Text, r.Err)
		}
		if asked += later.asked; asked != 1 && test.who != "nobody" {
			t.Errorf("%s: asked %d times", test.who, asked)
		}
	}
	var said []string
	if _, err := audit.ReadLog(audit.LogPath(home), func(r audit.Record) error {
		if r.Tool == "network" && r.Approval != nil {
			said = append(said, fmt.Sprint(r.Args["host"], " ", r.Rule, " ", r.Answer, " ", r.Approval.By, " ", r.Approval.Way))
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	want := []string{"web.test network.ask yes  client", "web.test network.ask no  client",
		"web.test network.ask yes somebody chat"}
	if !slices.Equal(said, want) {
		t.Errorf("the record says %q of who has answered", said)
	}
}

// answering is a desk at which each call is allowed as soon as it waits.
type answering struct {
	*approvals.Queue
	home  string
	on    bool
	asked int
}

func (a *answering) MustHoldCallsOf(session.Origin) bool { return a.on }

func (a *answering) WaitForApproval(ctx context.Context, _ *session.Session, c approvals.Call) (*approvals.Answer, error) {
	a.asked++
	return a.WaitForAnswer(ctx, c, func(_ context.Context, w *approvals.WaitingCall) {
		if shown, err := approvals.FindWaitingCall(a.home, w.ID); err == nil && shown.Tool == "network" {
			_ = approvals.AnswerCall(a.home, shown, approvals.Answer{Yes: true, By: "somebody", Way: "chat"})
		}
	})
}
