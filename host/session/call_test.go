package session

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/internal/pausable"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/pluginpolicy"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

func TestFormPausesCallTimeout(t *testing.T) {
	s, tool := &Session{policy: &policy.Policy{}}, &catalog.Tool{
		Plugin: &catalog.Plugin{Manifest: &pluginpb.Manifest{ID: "p"}}, Spec: &pluginpb.ToolSpec{Name: "t"}}
	synctest.Test(t, func(t *testing.T) {
		ctx := WithElicitor(t.Context(), func(_ context.Context, f []ElicitationForm) ([]FormAnswer, error) {
			time.Sleep(time.Hour) // of the test's own clock
			return []FormAnswer{{Action: "accept", Values: f[0].Schema}}, nil
		})
		ctx, cancel := pausable.WithTimeout(ctx, time.Minute)
		defer cancel()
		answer := s.newElicitationHandler(ctx, tool)(&pluginpb.Question{Schema: []byte(`{}`)})
		if answer.GetAction() != "accept" || string(answer.GetContent()) != `{}` || ctx.Err() != nil {
			t.Errorf("%v, %v", answer, ctx.Err())
		}
		if refused := s.newElicitationHandler(ctx, tool)(&pluginpb.Question{Message: strings.Repeat("x",
			maxFormBytes+1)}); refused.GetError() == "" {
			t.Errorf("%v", refused)
		}
	})
	if s.newElicitationHandler(t.Context(), tool) != nil {
		t.Error("somebody answers where nobody is")
	}
}

func TestUndoIDNeedsUndoStore(t *testing.T) {
	with := &pluginpolicy.Policy{Undo: undo.StoreOptions{Dir: "/store"}}
	structured := &pluginpb.Result{Structured: []byte(`{"undo":"1"}`)}
	for _, test := range []struct {
		policy *pluginpolicy.Policy
		result *pluginpb.Result
		want   string
	}{
		{with, &pluginpb.Result{Undo: "1"}, "1"},
		{with, structured, ""},
		{&pluginpolicy.Policy{}, &pluginpb.Result{Undo: "1"}, ""},
		{with, &pluginpb.Result{Undo: strings.Repeat("1", maxUndoIDBytes+1)}, ""},
	} {
		if got := undoIDOf(test.policy, test.result); got != test.want {
			t.Errorf("%v with store %q: %q, want %q", test.result, test.policy.Undo.Dir, got, test.want)
		}
	}
}

// told are the events that pieces of output become.
func told(pieces ...CallEvent) []CallEvent {
	var all []CallEvent
	whole, end := ForwardWholeCharacters(func(e CallEvent) { all = append(all, e) })
	for _, piece := range pieces {
		whole(piece)
	}
	end()
	return all
}

func TestOutputSplitsAtCharacters(t *testing.T) {
	out := func(text string) CallEvent { return CallEvent{Output: []byte(text)} }
	err := func(text string) CallEvent { return CallEvent{Output: []byte(text), Stderr: true} }
	half := CallEvent{Done: 1, Total: 2, Message: "half"}
	for name, test := range map[string]struct{ pieces, want []CallEvent }{
		"whole":            {[]CallEvent{out("aé"), out("")}, []CallEvent{out("aé")}},
		"cut in two":       {[]CallEvent{out("a\xc3"), out("\xa9b")}, []CallEvent{out("a"), out("éb")}},
		"cut in four":      {[]CallEvent{out("\xf0"), out("\x9f"), out("\x98"), out("\x80.")}, []CallEvent{out("😀.")}},
		"progress between": {[]CallEvent{out("\xc3"), half, out("\xa9")}, []CallEvent{half, out("é")}},
		"two streams": {[]CallEvent{out("\xc3"), err("\xe2\x82"), out("\xa9"), err("\xac")},
			[]CallEvent{out("é"), err("€")}},
		"never whole":            {[]CallEvent{out("a\xe2\x82")}, []CallEvent{out("a"), out("\uFFFD")}},
		"broken off":             {[]CallEvent{out("\xe2\x82"), out("a")}, []CallEvent{out("\uFFFDa")}},
		"no character":           {[]CallEvent{out("a\xffb"), out("\x80")}, []CallEvent{out("a\uFFFDb"), out("\uFFFD")}},
		"the end of each stream": {[]CallEvent{out("\xc3"), err("\xc3")}, []CallEvent{out("\uFFFD"), err("\uFFFD")}},
	} {
		if diff := cmp.Diff(test.want, told(test.pieces...)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	whole, end := ForwardWholeCharacters(nil)
	if end(); whole != nil {
		t.Error("there is something to tell, and nobody who listens")
	}
}

func FuzzInCharacters(f *testing.F) {
	f.Add([]byte("aé😀"), uint8(1))
	f.Add([]byte("\xff\xf0\x9f"), uint8(2))
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		var pieces []CallEvent
		for rest := data; len(rest) > 0; {
			n := min(len(rest), int(size)+1)
			pieces, rest = append(pieces, CallEvent{Output: rest[:n]}), rest[n:]
		}
		var all []byte
		for _, e := range told(pieces...) {
			if !utf8.Valid(e.Output) {
				t.Errorf("a piece of %q is %q", data, e.Output)
			}
			all = append(all, e.Output...)
		}
		if utf8.Valid(data) && !bytes.Equal(all, data) {
			t.Errorf("%q has become %q", data, all)
		}
	})
}

// Every client shows a note of the host: those that read texts, and those that read content blocks.
func TestNotesReachEveryClient(t *testing.T) {
	for name, test := range map[string]struct{ result, want Result }{
		"text":       {Result{Text: "a\n"}, Result{Text: "a\nnote"}},
		"structured": {Result{Structured: []byte(`{"a":1}`)}, Result{Text: "{\"a\":1}\nnote", Structured: []byte(`{"a":1}`)}},
		"image": {Result{Content: []Content{{Data: []byte{1}, MediaType: "image/png"}}},
			Result{Text: "note", Content: []Content{{Data: []byte{1}, MediaType: "image/png"}, {Text: "note"}}}},
	} {
		r := test.result
		r.addHostNote("note")
		if r.Text != test.want.Text || !cmp.Equal(r.Content, test.want.Content) || string(r.Structured) != string(test.want.Structured) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
