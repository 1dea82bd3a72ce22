package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestFollowContinuesAcrossFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logs", "audit.jsonl")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const before, count = 5, 400
	caughtUp, ended := make(chan struct{}), make(chan error, 1)
	seen := 0
	log := open(t, path, LogOptions{MaxSize: 1500})
	for i := range before {
		if err := log.Write(record(fmt.Sprint("t.", i))); err != nil {
			t.Fatal(err)
		}
	}
	go func() {
		ended <- FollowLog(ctx, path, func(r Record) error {
			if want := fmt.Sprint("t.", seen); r.Tool != want {
				return fmt.Errorf("%s came where %s was due", r.Tool, want)
			}
			if seen++; seen == count {
				cancel()
			}
			return nil
		}, func() { close(caughtUp) })
	}()
	select {
	case <-caughtUp:
	case err := <-ended:
		t.Fatal(err)
	}
	for i := before; i < count; i++ {
		if err := log.Write(record(fmt.Sprint("t.", i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-ended; err != nil || seen != count {
		t.Errorf("%d of %d were seen (%v)", seen, count, err)
	}
}

func TestFollowWaitsForMissingLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logs", "audit.jsonl")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := ""
	caughtUp := func() {
		if err := open(t, path, LogOptions{}).Write(record("first")); err != nil {
			t.Error(err)
		}
	}
	err := FollowLog(ctx, path, func(r Record) error { got = r.Tool; cancel(); return nil }, caughtUp)
	if err != nil || got != "first" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestMissingLogIsEmpty(t *testing.T) {
	if got := read(t, filepath.Join(t.TempDir(), "logs", "audit.jsonl")); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestReadStopsAtCallbackError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log := open(t, path, LogOptions{})
	for range 3 {
		if err := log.Write(record("x")); err != nil {
			t.Fatal(err)
		}
	}
	enough := errors.New("enough")
	n := 0
	if _, err := ReadLog(path, func(Record) error { n++; return enough }); !errors.Is(err, enough) || n != 1 {
		t.Errorf("%d, %v", n, err)
	}
}

func TestFilters(t *testing.T) {
	now := time.Now()
	r := Record{Time: now, Agent: "main", Session: "s", Tool: "filesystem.read_file", Decision: "deny", Error: "no"}
	yes := Record{Time: now, Tool: "shell.exec", Decision: "ask", Answer: "yes"}
	for _, c := range []struct {
		filter Filter
		record Record
		want   bool
	}{
		{Filter{}, r, true},
		{Filter{Agent: "main", Session: "s", Tool: "read_file", Denied: true, Failed: true, Since: now}, r, true},
		{Filter{Agent: "other"}, r, false},
		{Filter{Session: "other"}, r, false},
		{Filter{Tool: "filesystem.*"}, r, true},
		{Filter{Tool: "read_*"}, r, true},
		{Filter{Tool: "exec"}, r, false},
		{Filter{Since: now.Add(1)}, r, false},
		{Filter{Denied: true}, yes, false},
		{Filter{Failed: true}, yes, false},
		{Filter{Denied: true}, Record{Decision: "ask", Answer: "no"}, true},
	} {
		if got := c.filter.Matches(c.record); got != c.want {
			t.Errorf("%+v matches %+v: %t", c.filter, c.record, got)
		}
	}
}

func TestToolStats(t *testing.T) {
	var s ToolStatsCollector
	for i := range 200 {
		s.AddRecord(Record{Tool: "a", Decision: "allow", Millis: float64(200 - i), Bytes: 2})
	}
	s.AddRecord(Record{Tool: "a", Decision: "deny", Millis: 1000})
	s.AddRecord(Record{Tool: "b", Decision: "allow", Millis: 3, Error: "failed"})
	s.AddRecord(Record{Tool: "c", Decision: "ask", Answer: "no"})
	want := []ToolStats{
		{Tool: "a", Calls: 201, Denied: 1, Bytes: 400, P50: 100, P99: 198},
		{Tool: "b", Calls: 1, Failed: 1, P50: 3, P99: 3},
		{Tool: "c", Calls: 1, Denied: 1},
	}
	if got := s.ToolStats(); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("{\"time\":\"2026-11-21T07:00:00Z\",\"tool\":\"x\"}\n\n{\n[]\nnull\n{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadLog(path, func(Record) error { return nil }); err != nil {
			t.Error(err)
		}
	})
}
