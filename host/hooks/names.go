package hooks

import (
	"regexp"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// row says which of Claude's tools one of ours corresponds to, and which arguments. A tool may have several; the first
// whose name a matcher has is the one that its hooks are given.
type row struct {
	tool, name string
	fields     []field
}

// field is an argument under its two names.
type field struct {
	ours, theirs string
	kind         kind
	parts        []field // of the pieces
}

// kind is how a value is written in Claude's form.
type kind int

const (
	same     kind = iota
	path          // absolute in Claude's form
	seconds       // milliseconds in Claude's form
	inverted      // true there is false here
	listing       // what a search returns, in other words
	last          // the last line here, and how many lines there
	all           // 0 here is true there
	pieces        // edits of a file, which have arguments of their own
)

var (
	file     = field{ours: "path", theirs: "file_path", kind: path}
	dir      = field{ours: "path", theirs: "path", kind: path}
	pattern  = as("pattern", "pattern")
	oldText  = as("old_text", "old_string")
	newText  = as("new_text", "new_string")
	counting = field{ours: "count", theirs: "replace_all", kind: all}

	reading = []field{file, as("start_line", "offset"), {ours: "end_line", theirs: "limit", kind: last},
		as("offset", "byte_offset"), as("length", "byte_length")}
	writing   = []field{file, as("content", "content")}
	adding    = []field{file, as("content", "new_string")}
	replacing = []field{file, oldText, newText,
		{ours: "edits", theirs: "edits", kind: pieces, parts: []field{file, oldText, newText}}}
	editing = []field{file, counting,
		{ours: "edits", theirs: "edits", kind: pieces, parts: []field{file, counting}}}
)

// as is an argument whose value is the same in both forms.
func as(ours, theirs string) field { return field{ours: ours, theirs: theirs} }

// rows are the tools that have a counterpart.
var rows = []row{
	{"shell.exec", "Bash", []field{as("command", "command"), {ours: "timeout", theirs: "timeout", kind: seconds},
		as("background", "run_in_background")}},
	{"filesystem.read_file", "Read", reading},
	{"filesystem.read", "Read", reading},
	{"filesystem.write_file", "Write", writing},
	{"filesystem.write", "Write", writing},
	{"filesystem.append_file", "Edit", adding},
	{"filesystem.append_file", "Write", writing},
	{"filesystem.insert", "Edit", adding},
	{"filesystem.edit_file", "Edit", replacing},
	{"filesystem.edit_file", "MultiEdit", replacing},
	{"filesystem.edit", "Edit", editing},
	{"filesystem.edit", "MultiEdit", editing},
	{"filesystem.list_dir", "LS", []field{dir}},
	{"filesystem.ls", "LS", []field{dir}},
	{"grep.grep", "Grep", []field{pattern, dir, as("include", "glob"), as("type", "type"),
		{ours: "output", theirs: "output_mode", kind: listing}, as("context", "-C"),
		{ours: "case_sensitive", theirs: "-i", kind: inverted}, as("max_results", "head_limit"),
		as("multiline", "multiline")}},
	{"grep.find", "Glob", []field{pattern, dir}},
}

// listings are the words for what a search returns.
var listings = map[string]string{"content": "content", "files": "files_with_matches", "count": "count"}

// form is a name that a tool can be matched by, and with it the form of the arguments.
type form struct {
	tool, name string
	fields     []field // nil for a tool's own
	claude     bool
}

// forms are a tool's forms, in the order in which matchers are held against them: Claude's, that of an MCP server's
// tool, and its own names.
func forms(tool string) []form {
	plugin, short, full := strings.Cut(tool, ".")
	if !full {
		short = tool
	}
	var out []form
	for _, r := range rows {
		if r.tool == tool || !full && strings.HasSuffix(r.tool, "."+tool) {
			out = append(out, form{tool, r.name, r.fields, true})
		}
	}
	if full && len(out) == 0 {
		out = append(out, form{tool: tool, name: "mcp__" + plugin + "__" + short})
	}
	out = append(out, form{tool: tool, name: tool})
	if full {
		out = append(out, form{tool: tool, name: short})
	}
	return out
}

// plainName is a tool's name as upstream has it: the short one for what is its too.
func plainName(tool string) string {
	if i := slices.IndexFunc(rows, func(r row) bool { return r.tool == tool }); i >= 0 {
		_, short, _ := strings.Cut(tool, ".")
		return short
	}
	return tool
}

// matcher says what hooks are for.
type matcher struct {
	names   []string
	pattern *regexp.Regexp // nil for names; with no names either, it matches all
}

// aList is what is no regular expression to Claude Code.
var aList = lazyregexp.New(`^[a-zA-Z0-9_|, -]+$`)

func newMatcher(text string) (*matcher, error) {
	switch {
	case text == "" || text == "*":
		return &matcher{}, nil
	case aList().MatchString(text):
		m := &matcher{names: []string{}}
		for _, name := range strings.FieldsFunc(text, func(r rune) bool { return r == '|' || r == ',' }) {
			if name = strings.TrimSpace(name); name != "" {
				m.names = append(m.names, name)
			}
		}
		return m, nil
	}
	pattern, err := regexp.Compile(text)
	return &matcher{pattern: pattern}, err
}

func (m *matcher) matches(name string) bool {
	switch {
	case m.pattern != nil:
		return m.pattern.MatchString(name)
	case m.names != nil:
		return slices.ContainsFunc(m.names, func(listed string) bool {
			return name == listed || strings.HasPrefix(listed, "mcp__") && strings.HasPrefix(name, listed+"__")
		})
	}
	return true
}

// form returns the first of a tool's forms that matches; nil if none does.
func (m *matcher) form(tool string) *form {
	for _, f := range forms(tool) {
		if m.matches(f.name) {
			return &f
		}
	}
	return nil
}
