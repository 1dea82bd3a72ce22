package hooks

import (
	"regexp"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// claudeToolMapping maps a picoclaw tool and its arguments to a tool of Claude Code. If a tool has several mappings, a
// hook gets the first one that its matcher accepts.
type claudeToolMapping struct {
	tool, name string
	args       []claudeArgMapping
}

// claudeArgMapping maps an argument's name and values between picoclaw and Claude Code.
type claudeArgMapping struct {
	ours, theirs string
	conversion   argConversion
	elements     []claudeArgMapping // mappings for each edit of an editList
}

// argConversion is the conversion of an argument's value to Claude Code's form and back.
type argConversion int

const (
	unchanged       argConversion = iota
	absolutePath                  // relative here, absolute in Claude's form
	secondsToMillis               // seconds here, milliseconds in Claude's form
	negatedBool                   // true here is false in Claude's form
	outputMode                    // what a search returns, by other words in Claude's form
	endLineToCount                // end line here, number of lines in Claude's form
	zeroCountToAll                // 0 here is true in Claude's form
	editList                      // list of edits, converted one by one
)

var (
	fileArg    = claudeArgMapping{ours: "path", theirs: "file_path", conversion: absolutePath}
	dirArg     = claudeArgMapping{ours: "path", theirs: "path", conversion: absolutePath}
	patternArg = sameValueMapping("pattern", "pattern")
	oldTextArg = sameValueMapping("old_text", "old_string")
	newTextArg = sameValueMapping("new_text", "new_string")
	countArg   = claudeArgMapping{ours: "count", theirs: "replace_all", conversion: zeroCountToAll}

	readArgs = []claudeArgMapping{fileArg, sameValueMapping("start_line", "offset"), {ours: "end_line", theirs: "limit", conversion: endLineToCount},
		sameValueMapping("offset", "byte_offset"), sameValueMapping("length", "byte_length")}
	writeArgs   = []claudeArgMapping{fileArg, sameValueMapping("content", "content")}
	insertArgs  = []claudeArgMapping{fileArg, sameValueMapping("content", "new_string")}
	replaceArgs = []claudeArgMapping{fileArg, oldTextArg, newTextArg,
		{ours: "edits", theirs: "edits", conversion: editList, elements: []claudeArgMapping{fileArg, oldTextArg, newTextArg}}}
	editArgs = []claudeArgMapping{fileArg, countArg,
		{ours: "edits", theirs: "edits", conversion: editList, elements: []claudeArgMapping{fileArg, countArg}}}
)

// sameValueMapping returns the mapping of an argument whose values are equal in both forms.
func sameValueMapping(ours, theirs string) claudeArgMapping {
	return claudeArgMapping{ours: ours, theirs: theirs}
}

// toolMappings are the tools with a counterpart in Claude Code.
var toolMappings = []claudeToolMapping{
	{"shell.exec", "Bash", []claudeArgMapping{sameValueMapping("command", "command"), {ours: "timeout", theirs: "timeout", conversion: secondsToMillis},
		sameValueMapping("background", "run_in_background")}},
	{"filesystem.read_file", "Read", readArgs},
	{"filesystem.read", "Read", readArgs},
	{"filesystem.write_file", "Write", writeArgs},
	{"filesystem.write", "Write", writeArgs},
	{"filesystem.append_file", "Edit", insertArgs},
	{"filesystem.append_file", "Write", writeArgs},
	{"filesystem.insert", "Edit", insertArgs},
	{"filesystem.edit_file", "Edit", replaceArgs},
	{"filesystem.edit_file", "MultiEdit", replaceArgs},
	{"filesystem.edit", "Edit", editArgs},
	{"filesystem.edit", "MultiEdit", editArgs},
	{"filesystem.list_dir", "LS", []claudeArgMapping{dirArg}},
	{"filesystem.ls", "LS", []claudeArgMapping{dirArg}},
	{"grep.grep", "Grep", []claudeArgMapping{patternArg, dirArg, sameValueMapping("include", "glob"), sameValueMapping("type", "type"),
		{ours: "output", theirs: "output_mode", conversion: outputMode}, sameValueMapping("context", "-C"),
		{ours: "case_sensitive", theirs: "-i", conversion: negatedBool}, sameValueMapping("max_results", "head_limit"),
		sameValueMapping("multiline", "multiline")}},
	{"grep.find", "Glob", []claudeArgMapping{patternArg, dirArg}},
}

// outputModes maps our values of "output" to Claude's.
var outputModes = map[string]string{"content": "content", "files": "files_with_matches", "count": "count"}

// toolAlias is a name that matchers accept for a tool, with the form of the arguments under that name.
type toolAlias struct {
	name   string
	args   []claudeArgMapping // nil for the tool's own form
	claude bool
}

// aliasesOfTool returns the aliases of a tool in the order in which matchers try them: Claude Code's name, an MCP
// tool's name, and the tool's own names.
func aliasesOfTool(tool string) []toolAlias {
	plugin, short, full := strings.Cut(tool, ".")
	if !full {
		short = tool
	}
	var out []toolAlias
	for _, r := range toolMappings {
		if r.tool == tool || !full && strings.HasSuffix(r.tool, "."+tool) {
			out = append(out, toolAlias{r.name, r.args, true})
		}
	}
	if full && len(out) == 0 {
		out = append(out, toolAlias{name: "mcp__" + plugin + "__" + short})
	}
	out = append(out, toolAlias{name: tool})
	if full {
		out = append(out, toolAlias{name: short})
	}
	return out
}

// upstreamToolName returns the name of a tool in upstream PicoClaw: the short name if upstream has the tool, otherwise
// the full name.
func upstreamToolName(tool string) string {
	if i := slices.IndexFunc(toolMappings, func(r claudeToolMapping) bool { return r.tool == tool }); i >= 0 {
		_, short, _ := strings.Cut(tool, ".")
		return short
	}
	return tool
}

// nameMatcher selects the names of tools or events for which a hook group runs.
type nameMatcher struct {
	names   []string
	pattern *regexp.Regexp // nil if names is set; if both are nil, everything matches
}

// nameListPattern matches the matchers that Claude Code reads as a list of names instead of a regular expression.
var nameListPattern = lazyregexp.New(`^[a-zA-Z0-9_|, -]+$`)

// newNameMatcher parses a matcher: a list of names or a regular expression.
func newNameMatcher(text string) (*nameMatcher, error) {
	switch {
	case text == "" || text == "*":
		return &nameMatcher{}, nil
	case nameListPattern().MatchString(text):
		m := &nameMatcher{names: []string{}}
		for _, name := range strings.FieldsFunc(text, func(r rune) bool { return r == '|' || r == ',' }) {
			if name = strings.TrimSpace(name); name != "" {
				m.names = append(m.names, name)
			}
		}
		return m, nil
	}
	pattern, err := regexp.Compile(text)
	return &nameMatcher{pattern: pattern}, err
}

func (m *nameMatcher) matchesName(name string) bool {
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

// firstAlias returns the first alias of a tool that the matcher selects; nil for none.
func (m *nameMatcher) firstAlias(tool string) *toolAlias {
	for _, f := range aliasesOfTool(tool) {
		if m.matchesName(f.name) {
			return &f
		}
	}
	return nil
}
