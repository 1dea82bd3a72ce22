package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
)

// measureAudit is what a page of a large audit log takes, by what is looked for.
func measureAudit(string) error {
	const count, runs = 1_000_000, 20
	return withHome(func(home string) error {
		path, begin := filepath.Join(home, "audit.jsonl"), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		if err := writeRecords(path, count, begin); err != nil {
			return err
		}
		fmt.Printf("the latest 50 of %d records, each page of a search (at most 200 ms)\n", count)
		var last audit.Record
		for _, q := range []struct {
			name string
			audit.Filter
		}{
			{"no filter", audit.Filter{}},
			{"one agent of ten", audit.Filter{Agent: "agent-3"}},
			{"refused, one in a thousand", audit.Filter{Denied: true}},
			{"a session, the oldest", audit.Filter{Session: "session-0"}},
			{"a tool that was never called", audit.Filter{Tool: "never.*"}},
			{"a text that bytes can't rule out", audit.Filter{Text: "<"}},
			{"a minute in the middle", audit.Filter{Since: begin.Add(500_000 * time.Second),
				Until: begin.Add(500_060 * time.Second)}},
		} {
			var took sample
			pages, found := 0, 0
			query := audit.Query{Filter: q.Filter, Limit: 50}
			for first := true; first || len(took) < runs; first = false {
				pages, found, query.After = 0, 0, ""
				for more := true; more && found < query.Limit; more = query.After != "" {
					if err := took.timed(func() error {
						page, err := audit.Search(path, query)
						if err == nil {
							pages, found, query.After = pages+1, found+len(page.Records), page.Next
							if len(page.Records) > 0 {
								last = page.Records[0]
							}
						}
						return err
					}); err != nil {
						return err
					}
					if pages == 2*runs {
						break
					}
				}
			}
			fmt.Printf("  %-34s %v   %d found in %d pages\n", q.name, took, found, pages)
		}
		var took sample
		for range runs {
			if err := took.timed(func() error { _, err := audit.Find(path, last.Session, last.Time); return err }); err != nil {
				return err
			}
		}
		fmt.Printf("  %-34s %v\n", "one record", took)
		return nil
	})
}

// writeRecords writes a log with a record a second.
func writeRecords(path string, count int, begin time.Time) error {
	log, err := audit.Open(path, audit.Options{MaxSize: 50 << 20})
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	for i := range count {
		r := audit.Record{Time: begin.Add(time.Duration(i) * time.Second), Agent: fmt.Sprint("agent-", i%10),
			Session: fmt.Sprint("session-", i/100), Origin: "mcp", Tool: "filesystem.read_file", Decision: "allow",
			Args: map[string]any{"path": fmt.Sprintf("src/module-%d/file-%d.go", i%97, i)}, Millis: 1.5, Bytes: 4096}
		if i%1000 == 0 {
			r.Decision, r.Rule, r.Error = "deny", "path-outside", "refused: the path is outside of the workspace"
		}
		if err := log.Write(r); err != nil {
			return err
		}
	}
	return nil
}
