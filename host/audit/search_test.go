package audit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"
)

// variousRecord is one of many agents, tools and decisions.
func variousRecord(i int, begin time.Time) Record {
	r := Record{Time: begin.Add(time.Duration(i) * time.Second).UTC(), Agent: fmt.Sprint("agent-", i%7),
		Session: fmt.Sprint("s", i/50), Origin: []string{"mcp", "cli", "cron"}[i%3], Decision: "allow",
		Tool: []string{"filesystem.read_file", "shell.exec", "grep.grep"}[i%3], Millis: float64(i%5) * 100,
		Args: map[string]any{"path": fmt.Sprint("dir/file <", i, ">")}}
	switch {
	case i%10 == 3:
		r.Decision, r.Rule, r.Error = "deny", "exec-rm-root", "refused: it is dangerous"
	case i%10 == 7:
		r.Decision, r.Answer = "ask", "no"
	case i%25 == 1:
		r.Error = `no such file: "a & b"`
	}
	return r
}

// writeVarious writes a log of them, in several files.
func writeVarious(t *testing.T, count int, begin time.Time) (path string, log *Log) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "audit.jsonl")
	log = open(t, path, LogOptions{MaxSize: 600 << 10})
	for i := range count {
		if err := log.Write(variousRecord(i, begin)); err != nil {
			t.Fatal(err)
		}
	}
	return path, log
}

// searchAll follows the pages of a search to its end.
func searchAll(t *testing.T, path string, q LogQuery) (all []Record) {
	t.Helper()
	for {
		page, err := SearchLog(path, q)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Records...)
		if page.Next == "" {
			return all
		}
		q.After = page.Next
	}
}

func TestSearchFindsSameAsRead(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	path, _ := writeVarious(t, 6000, begin)
	all := read(t, path)
	slices.Reverse(all)
	for _, f := range []Filter{
		{}, {Agent: "agent-3"}, {Agent: "agent"}, {Session: "s7"}, {Tool: "exec"}, {Tool: "*.read_*"}, {Tool: "[gs]*"},
		{Origin: "cron", Denied: true}, {Decision: "ask"}, {Failed: true}, {Text: "rm-root"}, {Text: `"a & b"`},
		{Text: "file <77>"}, {Text: "nothing has this"},
		{Since: begin.Add(5 * time.Hour / 4)}, {Since: begin.Add(time.Hour), Until: begin.Add(time.Hour + time.Minute)},
		{Until: begin.Add(10 * time.Minute), Agent: "agent-1"}, {Until: begin},
	} {
		var want []Record
		for _, r := range all {
			if f.Matches(r) {
				want = append(want, r)
			}
		}
		if got := searchAll(t, path, LogQuery{Filter: f, Limit: 97}); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v finds %d, and reading %d", f, len(got), len(want))
		}
	}
}

func TestSearchContinuesAfterRotation(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	path, log := writeVarious(t, 100, begin)
	first, err := SearchLog(path, LogQuery{Limit: 10})
	if err != nil || len(first.Records) != 10 {
		t.Fatalf("%+v, %v", first, err)
	}
	for i := 100; i < 5000; i++ {
		if err := log.Write(variousRecord(i, begin)); err != nil {
			t.Fatal(err)
		}
	}
	if aside, err := rotatedFilePaths(path); err != nil || len(aside) < 2 {
		t.Fatalf("%d files were put aside (%v)", len(aside), err)
	}
	second, err := SearchLog(path, LogQuery{Limit: 1, After: first.Next})
	if err != nil || len(second.Records) != 1 || !reflect.DeepEqual(second.Records[0].Args["path"], "dir/file <89>") {
		t.Fatalf("%+v, %v", second, err)
	}
	for _, found := range append(first.Records, second.Records...) {
		if r, err := FindCall(path, found.Session, found.Time); err != nil || !reflect.DeepEqual(r, found) {
			t.Errorf("%+v is %+v, %v", found, r, err)
		}
	}
	files, _ := rotatedFilePaths(path)
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := SearchLog(path, LogQuery{Limit: 1, After: first.Next}); !errors.Is(err, ErrNotInLog) {
		t.Errorf("what is gone gives %v", err)
	}
	if _, err := FindCall(path, first.Records[0].Session, first.Records[0].Time); !errors.Is(err, ErrNotInLog) {
		t.Errorf("what is gone gives %v", err)
	}
}

func TestSearchSkipsInvalidLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	line := func(i int) []byte {
		text, err := variousRecord(i, time.Unix(0, 0)).encodeShortened()
		if err != nil {
			t.Fatal(err)
		}
		return append(text, '\n')
	}
	text := slices.Concat(line(1), []byte("\n{\"time\":\"cut\n"), line(2), bytes.Repeat([]byte{'x'}, 2*maxLine),
		[]byte("\n"), line(3), make([]byte, 3*blockSize), []byte("\n"), line(4), line(5)[:40])
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	page, err := SearchLog(path, LogQuery{Limit: 50})
	if err != nil || len(page.Records) != 4 || page.Broken != 4 || page.Next != "" {
		t.Fatalf("%d records, %d broken, next %q (%v)", len(page.Records), page.Broken, page.Next, err)
	}
	for i, found := range page.Records {
		if want := fmt.Sprint("dir/file <", 4-i, ">"); found.Args["path"] != want {
			t.Errorf("%v is at %s's place", found.Args, want)
		}
	}
}

func TestSearchOfMissingLogIsEmpty(t *testing.T) {
	page, err := SearchLog(filepath.Join(t.TempDir(), "logs", "audit.jsonl"), LogQuery{Limit: 10})
	if err != nil || len(page.Records) != 0 || page.Next != "" {
		t.Errorf("%+v, %v", page, err)
	}
}

func TestSearchReadsBoundedPart(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	path, _ := writeVarious(t, maxParsed+100, begin)
	q := LogQuery{Filter: Filter{Text: "<>"}, Limit: 1} // no line is told by its bytes not to have it
	page, err := SearchLog(path, q)
	if err != nil || len(page.Records) != 0 || page.Next == "" || page.Reached.Before(begin.Add(100*time.Second)) {
		t.Fatalf("%+v, %v", page, err)
	}
	q.After = page.Next
	if page, err = SearchLog(path, q); err != nil || page.Next != "" {
		t.Errorf("%+v, %v", page, err)
	}
}

func FuzzPlaces(f *testing.F) {
	path := filepath.Join(f.TempDir(), "audit.jsonl")
	log, err := OpenLog(path, LogOptions{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = log.Close() })
	for i := range 20 {
		if err := log.Write(variousRecord(i, time.Unix(0, 0))); err != nil {
			f.Fatal(err)
		}
	}
	page, err := SearchLog(path, LogQuery{Limit: 3})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{page.Next, "", "-", "0123456789abcdef-0", "0123456789abcdef--1",
		page.Next + "0", page.Next[:20] + "9223372036854775807"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if page, err := SearchLog(path, LogQuery{Limit: 100, After: text}); err == nil && len(page.Records) > 20 {
			t.Errorf("%q finds %d records of 20", text, len(page.Records))
		}
	})
}

func FuzzBackward(f *testing.F) {
	f.Add([]byte("a\nb\n\nc"), uint32(3))
	f.Add([]byte("\n\n"), uint32(300_000))
	f.Fuzz(func(t *testing.T, text []byte, times uint32) {
		if len(text) == 0 {
			return
		}
		text = bytes.Repeat(text, 1+int(times)%max(1, (2<<20)/len(text)))
		var got []byte
		end := bytes.LastIndexByte(text, '\n') + 1
		err := readLinesBackward(bytes.NewReader(text), int64(len(text)), func(at int64, lines []byte) bool {
			if int(at)+len(lines) != end-len(got) {
				t.Fatalf("%d bytes at %d do not end at %d", len(lines), at, end-len(got))
			}
			got = slices.Concat(lines, got)
			return true
		})
		lines := bytes.Split(text, []byte("\n"))
		longest := slices.MaxFunc(lines, func(a, b []byte) int { return len(a) - len(b) })
		if err != nil || len(longest) < maxLine && !bytes.Equal(got, text[:end]) {
			t.Errorf("%d bytes of %d came (%v)", len(got), end, err)
		}
	})
}

func FuzzSieve(f *testing.F) {
	f.Add("main", "s1", "shell.exec", "deny", "rule", "error \u2028 <é>", "a/b\"c\\", "*exec", "r")
	f.Add("a\x80", "", "x[y", "ask", "", "\x00", "", "x\\[y", "\"")
	f.Fuzz(func(t *testing.T, agent, session, tool, decision, rule, failure, arg, pattern, text string) {
		r := Record{Time: time.Unix(1, 0).UTC(), Agent: agent, Session: session, Origin: "mcp", Tool: tool,
			Decision: decision, Rule: rule, Error: failure, Args: map[string]any{"value": arg}}
		line, err := r.encodeShortened()
		if err != nil {
			t.Fatal(err)
		}
		kept, ok := parseRecordLine(line)
		if !ok {
			t.Fatalf("%q is no record", line)
		}
		for _, filter := range []Filter{
			{Agent: kept.Agent, Session: kept.Session}, {Tool: pattern}, {Tool: kept.Tool}, {Decision: kept.Decision},
			{Origin: "mcp", Denied: true}, {Failed: true}, {Text: text}, {Text: kept.Rule}, {Text: kept.Error},
			{Text: arg, Tool: pattern},
		} {
			lines, at := slices.Concat([]byte("{}\n"), line, []byte("\n")), 3
			if s := filter.buildLineFilter(); filter.Matches(kept) && (!s.mayMatch(line) || s.firstCandidateOffset(lines) > at) {
				t.Errorf("%+v wants %q, and it is held back", filter, line)
			}
		}
	})
}
