package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/internal/filelock"
)

// begin has a call wait, and returns it once it can be answered, with what comes of it.
func begin(t *testing.T, ctx context.Context, d *Queue, c Call) (*WaitingCall, <-chan outcome) {
	t.Helper()
	told, ended := make(chan *WaitingCall, 1), make(chan outcome, 1)
	go func() {
		a, err := d.WaitForAnswer(ctx, c, func(_ context.Context, w *WaitingCall) { told <- w })
		ended <- outcome{a, err}
	}()
	shown, err := FindWaitingCall(d.home, (<-told).ID)
	if err != nil {
		t.Fatal(err)
	}
	return shown, ended
}

type outcome struct {
	answer *Answer
	err    error
}

func TestFirstAnswerCounts(t *testing.T) {
	d := NewQueue(t.TempDir(), time.Hour)
	// What is no UTF-8 reads otherwise than it was written, and is answered all the same.
	w, ended := begin(t, t.Context(), d, Call{Tool: "x.y", Arguments: json.RawMessage(`{"a": "<b>"}`), Reason: "\xff"})
	if err := AnswerCall(d.home, w, Answer{Yes: true, By: "me", Way: "cli"}); err != nil {
		t.Fatal(err)
	}
	if err := AnswerCall(d.home, w, Answer{}); !errors.Is(err, ErrNotWaiting) {
		t.Errorf("a second answer: %v", err)
	}
	if got := <-ended; got.err != nil || got.answer == nil || !got.answer.Yes || got.answer.By != "me" {
		t.Errorf("%+v", got)
	}
}

func TestAnswerAppliesToItsCallOnly(t *testing.T) {
	d := NewQueue(t.TempDir(), time.Hour)
	first, ended := begin(t, t.Context(), d, Call{Tool: "x.y", Arguments: json.RawMessage(`{}`)})
	second, other := begin(t, t.Context(), d, Call{Tool: "x.y", Arguments: json.RawMessage(`{}`)})
	forged := *first
	forged.ID = second.ID
	if err := AnswerCall(d.home, &forged, Answer{Yes: true}); err != nil {
		t.Error(err)
	}
	if err := AnswerCall(d.home, second, Answer{Why: "no"}); err != nil {
		t.Error(err)
	}
	if got := <-other; got.answer == nil || got.answer.Yes || got.answer.Why != "no" {
		t.Errorf("the other call: %+v", got)
	}
	if err := AnswerCall(d.home, first, Answer{Yes: true}); err != nil {
		t.Error(err)
	}
	if got := <-ended; got.answer == nil || !got.answer.Yes {
		t.Errorf("the call: %+v", got)
	}
}

func TestUnansweredCallTimesOut(t *testing.T) {
	home := t.TempDir()
	d := NewQueue(home, time.Millisecond)
	if a, err := d.WaitForAnswer(t.Context(), Call{}, func(context.Context, *WaitingCall) {}); a != nil || err != nil {
		t.Errorf("%v %v", a, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, ended := begin(t, ctx, NewQueue(home, time.Hour), Call{})
	cancel()
	if got := <-ended; !errors.Is(got.err, context.Canceled) {
		t.Errorf("once cancelled: %+v", got)
	}
	if left, err := os.ReadDir(filepath.Join(home, dirName)); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}

func TestWaitingCallsAreLimited(t *testing.T) {
	d := NewQueue(t.TempDir(), time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	var all []<-chan outcome
	for range maxWaiting {
		_, ended := begin(t, ctx, d, Call{})
		all = append(all, ended)
	}
	if waiting, err := ListWaitingCalls(d.home); err != nil || len(waiting) != maxWaiting {
		t.Errorf("%d wait: %v", len(waiting), err)
	}
	if _, err := d.WaitForAnswer(ctx, Call{}, func(context.Context, *WaitingCall) {}); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("one more: %v", err)
	}
	_, ended := begin(t, ctx, d, Call{Agent: "other"}) // nobody else is kept from asking
	all = append(all, ended)
	cancel()
	for _, ended := range all {
		<-ended
	}
}

func TestOversizedCallDoesNotWait(t *testing.T) {
	d := NewQueue(t.TempDir(), time.Millisecond)
	long := Call{Arguments: json.RawMessage(`"` + strings.Repeat(" ", maxFileBytes) + `"`)}
	_, err := d.WaitForAnswer(t.Context(), long, func(context.Context, *WaitingCall) { t.Error("it waits") })
	if err == nil || !strings.Contains(err.Error(), "bytes; a person can be shown") {
		t.Errorf("it does not wait because: %v", err)
	}
	if waiting, err := ListWaitingCalls(d.home); err != nil || len(waiting) > 0 {
		t.Errorf("%d wait: %v", len(waiting), err)
	}
}

// What lies there is read as what it is, whatever it is.
func FuzzFind(f *testing.F) {
	f.Add([]byte(`{"id":"aaaaaaaa","arguments":{}}`))
	f.Add([]byte(`{"id":"bbbbbbbb"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		home := t.TempDir()
		if err := os.Mkdir(filepath.Join(home, dirName), 0o700); err != nil {
			t.Fatal(err)
		}
		file, err := os.Create(approvalFilePath(home, "aaaaaaaa", callSuffix))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		if _, err := file.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := filelock.Lock(file); err != nil {
			t.Fatal(err)
		}
		if w, err := FindWaitingCall(home, "aaaaaaaa"); err == nil && w.ID != "aaaaaaaa" {
			t.Errorf("%+v", w)
		}
		if a := consumeAnswer(approvalFilePath(home, "aaaaaaaa", callSuffix), "x"); a != nil && a.Digest != "x" {
			t.Errorf("%+v", a)
		}
	})
}
