package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/approvals"
	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/quota"
)

// A browser that does not read is cut, and costs neither memory nor anybody's time.
func TestSlowListenerIsDisconnected(t *testing.T) {
	var f callFeed
	slow := f.addListener(0)
	for range maxBehind + 1 {
		f.addCall(audit.Record{Time: time.Now()})
	}
	n := 0
	for range slow {
		n++
	}
	if n != maxBehind || len(f.listeners) != 0 {
		t.Errorf("it was told %d, and %d are left", n, len(f.listeners))
	}
	for range 3 * maxRecent {
		f.addCall(audit.Record{Time: time.Now()})
	}
	if len(f.recent) > 2*maxRecent {
		t.Errorf("%d calls are kept", len(f.recent))
	}
	var all []chan numberedCall
	for range maxListeners {
		all = append(all, f.addListener(0))
	}
	if f.addListener(0) != nil {
		t.Error("there is no bound to listeners")
	}
	for _, l := range all {
		f.removeListener(l)
	}
}

func TestResultStoreIsBounded(t *testing.T) {
	var s resultStore
	at := time.Now()
	for i := range maxResults + 10 {
		s.keepResult(audit.Record{Session: fmt.Sprint(i), Time: at}, strings.Repeat("x", 2*maxResultBytes))
	}
	if a := s.findResult("9", at); a.Kept || len(s.order) != maxResults {
		t.Errorf("the oldest is there: %v; %d are", a.Kept, len(s.order))
	}
	if a := s.findResult("10", at); !a.Kept || len(a.Text) > maxResultBytes+len("…") || a.Cut != 2*maxResultBytes {
		t.Errorf("%v, %d of %d", a.Kept, len(a.Text), a.Cut)
	}
	// A secret at the cut is not cut in two.
	s.keepResult(audit.Record{Session: "secret", Time: at}, strings.Repeat("x", maxResultBytes-20)+"\npassword=hunter2hunter2hunter2")
	if a := s.findResult("secret", at); strings.Contains(a.Text, "hunter2") {
		t.Error("half a secret is shown")
	}
}

func TestAnswerRequiresShownCall(t *testing.T) {
	w := newWorld(t)
	b := w.open(true)
	answers := make(chan *approvals.Answer, 1)
	desk := approvals.NewQueue(w.home, time.Minute)
	told := make(chan *approvals.WaitingCall, 1)
	go func() {
		a, err := desk.WaitForAnswer(t.Context(), approvals.Call{Tool: "shell.exec", Agent: "main",
			Arguments: json.RawMessage(`{"command":"rm <x>"}`)}, func(_ context.Context, w *approvals.WaitingCall) { told <- w })
		if err != nil {
			t.Error(err)
		}
		answers <- a
	}()
	waiting := <-told
	_, page := b.get("approvals")
	digest := regexp.MustCompile(`name="digest" value="(\w+)"`).FindStringSubmatch(page)
	if digest == nil || !strings.Contains(page, "rm &lt;x&gt;") {
		t.Fatal(page)
	}
	form := func(digest string) url.Values {
		return url.Values{"csrf": {b.csrf()}, "id": {waiting.ID}, "digest": {digest}, "answer": {"allow"}}
	}
	for _, other := range []string{"", "x", strings.Repeat("0", 64)} {
		if status, _, _ := b.send("POST", b.at+"approvals", form(other), nil); status != 409 {
			t.Errorf("of another call: %d", status)
		}
	}
	if status, _, _ := b.send("POST", b.at+"approvals", form(digest[1]), nil); status != 200 {
		t.Errorf("of this one: %d", status)
	}
	if a := <-answers; a == nil || !a.Yes || a.By != "somebody" || a.Way != "console" {
		t.Errorf("%+v", a)
	}
	if status, _, _ := b.send("POST", b.at+"approvals", form(digest[1]), nil); status != 409 {
		t.Errorf("once more: %d", status)
	}
}

func TestRefusingLayer(t *testing.T) {
	for want, r := range map[string]audit.Record{
		"":                        {Decision: "allow"},
		"guard":                   {Decision: "deny", Rule: "exec.rm-recursive", Error: "x"},
		"switched off":            {Decision: "deny", Rule: "tools.disabled", Error: "x"},
		"not a call":              {Decision: "deny", Error: "there is no tool"},
		"the agent's limits":      {Decision: "deny", Rule: quota.CallsKey, Error: "x"},
		"a hook":                  {Decision: "deny", Rule: "hooks.PreToolUse[0]", Error: "x"},
		"a person":                {Decision: "ask", Answer: "no", Approval: &audit.Approval{By: "x"}, Error: "x"},
		"nobody answered":         {Decision: "ask", Answer: "no", Rule: "make-it", Error: "x"},
		"file handles":            {Decision: "allow", Rule: "workspace.symlink", Error: "x"},
		"network":                 {Decision: "allow", Rule: "network.allow", Error: "x"},
		"stopped by the operator": {Decision: "allow", Rule: "stop", Error: "x"},
	} {
		if got := refusingLayer(r); got != want {
			t.Errorf("%+v: %q, want %q", r, got, want)
		}
	}
	if got := refusingLayer(audit.Record{Decision: "allow", Rule: "tools", Error: "exit 1"}); got != "" {
		t.Errorf("an error of a tool's own: %q", got)
	}
}

// A log that begins after the console, or is put aside while it is followed, is followed all the same.
func TestFeedFollowsRotatedLog(t *testing.T) {
	w := newWorld(t)
	path := w.options.Log
	w.write(audit.Record{Time: time.Now(), Session: "a"})
	if err := os.Rename(path, path+".aside"); err != nil {
		t.Fatal(err)
	}
	w.write(audit.Record{Time: time.Now(), Session: "b"})
	if calls, _ := w.feed.latestCalls(func(audit.Record) bool { return true }, 10); len(calls) != 2 {
		t.Errorf("seen: %+v", calls)
	}
}
