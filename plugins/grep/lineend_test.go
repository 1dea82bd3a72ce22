package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/sdk/sdktest"
)

// A line ends before \r\n as it does before \n, for every engine, in counts, places and pages.
func TestLinesThatEndInCRLF(t *testing.T) {
	files := map[string]string{
		"crlf": "a\r\nb a\r\n\r\nab\r\n$a\r\n", "lf": "a\nb a\n\nab\n$a\n", "mixed": "a\r\na\na", "cr": "a\r",
		"double": "a\r\r\n", "tail": "x a \r\n",
	}
	for name, e := range engines(t) {
		p := sdktest.Start(t, newPlugin(e), sdktest.Options{Files: files})
		for _, c := range []struct {
			call args
			want []string // file:line:column
		}{
			{args{"pattern": "a$"}, []string{"cr:1:1", "crlf:1:1", "crlf:2:3", "crlf:5:2", "lf:1:1", "lf:2:3", "lf:5:2",
				"mixed:1:1", "mixed:2:1", "mixed:3:1"}},
			{args{"pattern": "^a$"}, []string{"cr:1:1", "crlf:1:1", "lf:1:1", "mixed:1:1", "mixed:2:1", "mixed:3:1"}},
			{args{"pattern": "^A$", "case_sensitive": false, "include": "*lf"}, []string{"crlf:1:1", "lf:1:1"}},
			{args{"pattern": "^$"}, []string{"crlf:3:1", "lf:3:1"}},
			{args{"pattern": `[ab]b$|b\x20a$`}, []string{"crlf:2:1", "crlf:4:1", "lf:2:1", "lf:4:1"}},
			{args{"pattern": "(ab$|x)"}, []string{"crlf:4:1", "lf:4:1", "tail:1:1"}},
			{args{"pattern": `\$a$`}, []string{"crlf:5:1", "lf:5:1"}},
			{args{"pattern": "[$]a"}, []string{"crlf:5:1", "lf:5:1"}},
			{args{"pattern": "$a", "fixed_strings": true}, []string{"crlf:5:1", "lf:5:1"}},
			{args{"pattern": `(?-m:^ab$)`}, []string{"crlf:4:1", "lf:4:1"}},
			{args{"pattern": `a\r$`}, []string{"cr:1:1", "crlf:1:1", "crlf:2:3", "crlf:5:2", "double:1:1", "mixed:1:1"}},
			{args{"pattern": `^a$\s+^b`, "multiline": true}, []string{"crlf:1:1", "lf:1:1"}},
			{args{"pattern": `(?-m:a$)`, "multiline": true}, []string{"mixed:3:1"}},
		} {
			r := p.Call("grep", c.call)
			var out grepOutput
			if r.Err != nil {
				t.Fatalf("%s %v: %v", name, c.call, r.Err)
			}
			if err := json.Unmarshal(r.Structured, &out); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range out.Matches {
				got = append(got, fmt.Sprintf("%s:%d:%d", strings.TrimPrefix(m.File, p.Dir+"/"), m.Line, m.Column))
			}
			if !slices.Equal(got, c.want) || out.Total != len(c.want) {
				t.Errorf("%s %v: %d: %v; want %v", name, c.call, out.Total, got, c.want)
			}
			if paged := pages(t, p, c.call, 1); len(paged) != len(c.want) {
				t.Errorf("%s %v, page by page: %v", name, c.call, paged)
			}
		}
	}
}
