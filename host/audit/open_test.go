package audit

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// writeCalls writes calls that overlap, each with a begin, and returns the calls that have no end. Entries of an
// earlier version, without a call, are among them.
func writeCalls(t *testing.T, count int) (path string, open []string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := OpenLog(path, LogOptions{MaxSize: 40 << 10})
	if err != nil {
		t.Fatal(err)
	}
	write := func(r Record) {
		if err := log.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	begin := time.Now().Add(-time.Hour).UTC()
	var running []Record
	for i := range count {
		r := variousRecord(i, begin)
		r.Decision, r.Answer, r.Error, r.Rule = "allow", "", "", ""
		if i%5 == 4 {
			write(r)
			continue
		}
		r.Call = fmt.Sprint(r.Session, "-", i)
		// An agent that knows the name of an open call writes one like its end.
		r.Args["call"], r.Args["zz"] = "s0-7", `,"call":"s0-7"}`
		first := r
		first.State, first.Millis = Begun, 0
		write(first)
		running = append(running, r)
		if len(running) > i%4 {
			ended := running[0]
			if running = running[1:]; strings.HasSuffix(ended.Call, "7") {
				open = append(open, ended.Call)
			} else {
				ended.Rule = "only in the end"
				write(ended)
			}
		}
	}
	for _, r := range running {
		open = append(open, r.Call)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return path, open
}

func openOf(all []Record) (open []string) {
	for _, r := range all {
		if r.IsOpen() {
			open = append(open, r.Call)
		}
	}
	return open
}

func TestReadersShowOpenCalls(t *testing.T) {
	t.Parallel()
	const count = 1003
	path, want := writeCalls(t, count)
	check := func(how string, all []Record, number int) {
		t.Helper()
		open := openOf(all)
		slices.Sort(open)
		slices.Sort(want)
		if !slices.Equal(open, want) {
			t.Errorf("%s: open %v, want %v", how, open, want)
		}
		if len(all) != number {
			t.Errorf("%s: %d records, want %d", how, len(all), number)
		}
	}
	check("read", read(t, path), count)
	for _, limit := range []int{1, 7, 5000} {
		check(fmt.Sprint("search by ", limit), searchAll(t, path, LogQuery{Limit: limit}), count)
	}
	var of []Record
	for _, r := range read(t, path) {
		if r.Session == "s3" {
			of = append(of, r)
		}
	}
	if got := searchAll(t, path, LogQuery{Filter: Filter{Session: "s3"}, Limit: 3}); !slices.Equal(sorted(openOf(got)), sorted(openOf(of))) ||
		len(got) != len(of) {
		t.Errorf("search by session: %v, want %v", openOf(got), openOf(of))
	}
	check("verify", verified(t, path).Open, len(want))
	ctx, cancel := context.WithCancel(t.Context())
	var followed []Record
	if err := FollowLog(ctx, path, func(r Record) error { followed = append(followed, r); return nil }, cancel); err != nil {
		t.Fatal(err)
	}
	check("follow", followed, count)
	var sums ToolStatsCollector
	calls, open := 0, 0
	for _, r := range read(t, path) {
		sums.AddRecord(r)
	}
	for _, tool := range sums.ToolStats() {
		calls, open = calls+tool.Calls, open+tool.Open
	}
	if calls != count || open != len(want) {
		t.Errorf("stats: %d calls, %d open; want %d, %d", calls, open, count, len(want))
	}
}

func sorted(all []string) []string { slices.Sort(all); return all }

func TestExportsMarkOpenCalls(t *testing.T) {
	t.Parallel()
	for format, mark := range map[string]string{"jsonl": `"state":"begun"`, "csv": ",begun", "ocsf": `"status":"Unknown"`,
		"cef": "outcome=unknown"} {
		var out bytes.Buffer
		to, err := NewExporter(format, &out, "1")
		if err != nil {
			t.Fatal(err)
		}
		r := record("tool")
		r.Error, r.Decision, r.Call, r.State = "", "allow", "s-1", Begun
		if err := to.Write(r); err != nil {
			t.Fatal(err)
		}
		if err := to.Close(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), mark) {
			t.Errorf("%s: %s", format, &out)
		}
	}
}

func TestFollowShowsCallThatRuns(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log := open(t, path, LogOptions{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r := record("tool")
	r.Time, r.Call, r.State = time.Now().UTC(), "s-1", Begun
	if err := log.Write(r); err != nil {
		t.Fatal(err)
	}
	var states []string
	err := FollowLog(ctx, path, func(r Record) error {
		states = append(states, r.State)
		if r.IsOpen() {
			r.State = ""
			return log.Write(r)
		}
		cancel()
		return nil
	}, func() {})
	if err != nil || !slices.Equal(states, []string{Begun, ""}) {
		t.Errorf("%q, %v", states, err)
	}
}
