package audit

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/internal/measure"
)

// BenchmarkAudit writes an entry, and gets the latest 50 entries of a log with a million by several filters. A page
// is one step of a search: rare entries take several.
func BenchmarkAudit(b *testing.B) {
	b.Run("write", func(b *testing.B) {
		log := openLog(b, filepath.Join(b.TempDir(), "audit.jsonl"), 10<<20)
		times := measure.RunInTurns(b, measure.BenchCase{Name: "entry", Run: func() error { return log.Write(entry(0, time.Now())) }},
			measure.BenchCase{Name: "begin_and_end", Run: func() error {
				end := entry(0, time.Now()).RedactedAndShortened()
				end.Call = "abcdefghijkl-1"
				begin := end
				begin.State = Begun
				if err := log.Write(begin); err != nil {
					return err
				}
				return log.Write(end)
			}})
		b.ReportMetric(times[1].Median()-times[0].Median(), "begin-ms<=0.05")
	})
	const count, limit, maxPages = 1_000_000, 50, 40
	path, begin := filepath.Join(b.TempDir(), "audit.jsonl"), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	log := openLog(b, path, 50<<20)
	for i := range count {
		if err := log.Write(entry(i, begin)); err != nil {
			b.Fatal(err)
		}
	}
	var last Record
	for _, filtered := range []struct {
		name string
		Filter
	}{
		{"no_filter", Filter{}},
		{"agent_of_ten", Filter{Agent: "agent-3"}},
		{"denied_one_in_1000", Filter{Denied: true}},
		{"oldest_session", Filter{Session: "session-0"}},
		{"absent_tool", Filter{Tool: "never.*"}},
		{"escaped_text", Filter{Text: "<"}},
		{"minute_in_the_middle", Filter{Since: begin.Add(500_000 * time.Second), Until: begin.Add(500_060 * time.Second)}},
	} {
		b.Run(filtered.name, func(b *testing.B) {
			var times measure.RunDurations
			pages := 0
			for b.Loop() {
				query := LogQuery{Filter: filtered.Filter, Limit: limit}
				pages = 0
				for found := 0; found < limit && pages < maxPages; pages++ {
					err := times.TimeRun(func() error {
						page, err := SearchLog(path, query)
						found, query.After = found+len(page.Records), page.Next
						if len(page.Records) > 0 {
							last = page.Records[0]
						}
						return err
					})
					if err != nil {
						b.Fatal(err)
					}
					if query.After == "" {
						break
					}
				}
			}
			times.ReportMedian(b, "page-ms<=200")
			b.ReportMetric(float64(pages), "pages-count")
		})
	}
	b.Run("find", func(b *testing.B) {
		measure.RunInTurns(b, measure.BenchCase{Name: "entry", Run: func() error {
			_, err := FindCall(path, last.Session, last.Time)
			return err
		}})
	})
}

func openLog(b *testing.B, path string, maxSize int64) *Log {
	b.Helper()
	log, err := OpenLog(path, LogOptions{MaxSize: maxSize})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = log.Close() })
	return log
}

// entry is the entry with a number, of a log that gets one a second.
func entry(i int, begin time.Time) Record {
	r := Record{Time: begin.Add(time.Duration(i) * time.Second), Agent: fmt.Sprint("agent-", i%10),
		Session: fmt.Sprint("session-", i/100), Origin: "mcp", Tool: "filesystem.read_file", Decision: "allow",
		Args: map[string]any{"path": fmt.Sprintf("src/module-%d/file-%d.go", i%97, i)}, Millis: 1.5, Bytes: 4096}
	if i%1000 == 0 {
		r.Decision, r.Rule, r.Error = "deny", "path-outside", "refused: the path is outside of the workspace"
	}
	return r
}
