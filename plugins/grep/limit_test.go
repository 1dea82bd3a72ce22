package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/sdk/sdktest"
)

// Who asks for more results than one answer has gets as many as it has, where to go on, and is told.
func TestTooManyResultsAreAskedFor(t *testing.T) {
	p := sdktest.Start(t, newPlugin(engines(t)["built-in"]), sdktest.Options{})
	write(t, p.Dir, map[string]string{"a": strings.Repeat("x\n", mostResults+5)})
	const note = "; max_results is 10000, the most that one answer has"
	for asked, said := range map[int]bool{mostResults: false, mostResults + 1: true, 1 << 40: true} {
		for tool, pattern := range map[string]string{"grep": "x", "find": "*"} {
			r := p.Call(tool, args{"pattern": pattern, "max_results": asked})
			if r.Err != nil {
				t.Errorf("%s of %d: %v", tool, asked, r.Err)
				continue
			}
			last := r.Text[strings.LastIndexByte(r.Text, '\n')+1:]
			if strings.Contains(last, note) != said {
				t.Errorf("%s of %d says %q", tool, asked, last)
			}
			var out grepOutput
			if err := json.Unmarshal(r.Structured, &out); err != nil {
				t.Fatal(err)
			}
			if tool == "grep" && (out.Count != mostResults || out.Next == "") {
				t.Errorf("%d of %d matches, next %q", out.Count, asked, out.Next)
			}
		}
	}
}
