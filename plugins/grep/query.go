package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/picoclaw/picoclaw/sdk"
)

// grepQuery is a validated and compiled search.
type grepQuery struct {
	pattern   string         // as in the arguments
	ended     string         // pattern whose $ also matches before \r\n
	re        *regexp.Regexp // compiled from ended
	fixed     bool
	fold      bool
	multiline bool
	include   string   // a glob; "" for all
	globs     []string // of file types; nil for all
	recursive bool
	hidden    bool
	ignore    bool // skip files that .gitignore names
}

// newGrepQuery validates the arguments and compiles the pattern, which has the RE2 syntax of Go's regexp package.
func newGrepQuery(in *grepInput) (*grepQuery, error) {
	q := &grepQuery{
		pattern:   in.Pattern,
		fixed:     in.FixedStrings,
		fold:      in.CaseSensitive != nil && !*in.CaseSensitive,
		multiline: in.Multiline,
		include:   in.Include,
		recursive: in.Recursive == nil || *in.Recursive,
		hidden:    in.Hidden == nil || *in.Hidden,
		ignore:    in.Gitignore == nil || *in.Gitignore,
	}
	switch {
	case q.pattern == "":
		return nil, sdk.Errorf(sdk.InvalidArgument, "the pattern is empty")
	case len(q.pattern) > maxPatternBytes:
		return nil, sdk.Errorf(sdk.InvalidArgument, "the pattern is %d bytes long; at most %d are taken", len(q.pattern),
			maxPatternBytes)
	case strings.ContainsRune(q.pattern, 0):
		return nil, sdk.Errorf(sdk.InvalidArgument, "the pattern has a NUL byte, which no text has")
	case strings.Contains(q.pattern, "\n") && !q.multiline:
		return nil, sdk.Errorf(sdk.InvalidArgument, "the pattern has a line break; lines are searched one by one").
			WithHint("multiline searches across lines")
	}
	if strings.HasPrefix(q.include, "!") {
		return nil, sdk.Errorf(sdk.InvalidArgument, "include is not a glob: %q", q.include).WithHint(globHint)
	}
	if q.include != "" {
		if err := validateGlob("include", q.include); err != nil {
			return nil, err
		}
	}
	var err error
	if q.globs, err = fileTypeGlobs(in.Type); err != nil {
		return nil, err
	}
	if q.ended = q.pattern; !q.fixed {
		q.ended = allowCRLF(q.pattern, q.multiline)
	}
	if q.re, err = q.compilePattern(); err != nil {
		return nil, err
	}
	if !q.multiline && !q.fixed {
		return q, checkSingleLinePattern(q.pattern)
	}
	return q, nil
}

// checkSingleLinePattern refuses a pattern with a line break or NUL, which engines treat differently.
func checkSingleLinePattern(pattern string) error {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil //nolint:nilerr // it was compiled, so it is a pattern
	}
	switch {
	case containsLiteral(parsed, '\n'):
		return sdk.Errorf(sdk.InvalidArgument, "the pattern contains a line break, but lines are searched separately").
			WithHint("multiline searches across lines")
	case containsLiteral(parsed, 0):
		return sdk.Errorf(sdk.InvalidArgument, "the pattern contains a NUL byte, which no text has")
	}
	return nil
}

// containsLiteral reports whether a pattern contains a literal character.
func containsLiteral(re *syntax.Regexp, char rune) bool {
	if re.Op == syntax.OpLiteral && slices.Contains(re.Rune, char) {
		return true
	}
	return slices.ContainsFunc(re.Sub, func(part *syntax.Regexp) bool { return containsLiteral(part, char) })
}

// maxPatternBytes limits the length of a pattern.
const maxPatternBytes = 4096

func (q *grepQuery) compilePattern() (*regexp.Regexp, error) {
	pattern := q.ended
	if q.fixed {
		pattern = regexp.QuoteMeta(pattern)
	}
	flags := ""
	if q.fold {
		flags += "i"
	}
	if q.multiline {
		flags += "m"
	}
	if flags != "" {
		pattern = "(?" + flags + ":" + pattern + ")"
	}
	re, err := regexp.Compile(pattern)
	if err == nil {
		return re, nil
	}
	return nil, explainPatternError(q.pattern, err)
}

// explainPatternError returns an error with the invalid part of a pattern and its offset.
func explainPatternError(pattern string, err error) error {
	var wrong *syntax.Error
	if !errors.As(err, &wrong) {
		return sdk.Errorf(sdk.InvalidArgument, "the pattern is not a regular expression: %v", err)
	}
	e := sdk.Errorf(sdk.InvalidArgument, "the pattern is not a regular expression: %s", wrong.Code)
	switch at := strings.LastIndex(pattern, wrong.Expr); {
	case wrong.Expr == pattern:
		e.Message += fmt.Sprintf(" at position %d, its end", len(pattern)+1)
	case at >= 0 && wrong.Expr != "":
		e.Message += fmt.Sprintf(" at position %d: %q", at+1, wrong.Expr)
	}
	e = e.WithHint("write a backslash before characters that are meant literally, or set fixed_strings")
	if wrong.Code == syntax.ErrInvalidPerlOp || wrong.Code == syntax.ErrInvalidEscape {
		e = e.WithHint("look-around and back-references are not supported (RE2 syntax)")
	}
	return e
}

// whitespaceClass is \s as Go's regexp package writes it. ripgrepPattern adds NUL to it, which no text has. With this
// further character, ripgrep does not search for each possible prefix; such a search would find one in nearly every
// line.
const whitespaceClass = `[\t\n\f\r ]`

// ripgrepPattern returns the pattern in ripgrep's syntax, with classes that differ, such as \w, written out.
func (q *grepQuery) ripgrepPattern() string {
	if q.fixed || !strings.ContainsAny(q.ended, `\[{`) {
		return q.ended
	}
	flags := syntax.Perl
	if q.multiline {
		flags &^= syntax.OneLine
	}
	parsed, err := syntax.Parse(q.ended, flags)
	if err != nil {
		return q.ended
	}
	out := parsed.String()
	var b strings.Builder
	for i := 0; i < len(out); i++ {
		if strings.HasPrefix(out[i:], whitespaceClass) {
			b.WriteString(`[\x00` + whitespaceClass[1:])
			i += len(whitespaceClass) - 1
			continue
		}
		if out[i] != '\\' || i+1 == len(out) {
			b.WriteByte(out[i])
			continue
		}
		i++
		switch out[i] {
		case 'b', 'B': // the edge of an ASCII word
			b.WriteString(`(?-u:\` + string(out[i]) + ")")
		case 'A':
			b.WriteString("^") // a line is searched by itself
		case 'z':
			b.WriteString("$")
		default:
			b.WriteByte('\\')
			b.WriteByte(out[i])
		}
	}
	return b.String()
}

// includesFile reports whether the query includes a file. The name is relative to the searched directory.
func (q *grepQuery) includesFile(name string) bool {
	if q.include != "" && !matchesGlob(q.include, name) {
		return false
	}
	if q.globs == nil {
		return true
	}
	return slices.ContainsFunc(q.globs, func(glob string) bool { return matchesGlob(glob, name) })
}

// matchesGlob reports whether a glob matches a name: its last element, or the whole name if the glob has a slash.
func matchesGlob(glob, name string) bool {
	if rest, ok := strings.CutPrefix(glob, "**/"); ok && !strings.Contains(rest, "/") {
		glob = rest // at any depth, which is what it means without
	}
	if !strings.Contains(glob, "/") {
		name = name[strings.LastIndexByte(name, '/')+1:]
	}
	return doublestar.MatchUnvalidated(strings.TrimPrefix(glob, "/"), name)
}

// allowCRLF returns a pattern whose $ also matches before \r, so that all engines agree.
func allowCRLF(pattern string, multiline bool) string {
	if !strings.Contains(pattern, "$") {
		return pattern
	}
	// A line is searched by itself, so its end is the text's: with one meaning for both the pattern is as quick as
	// before.
	parsed, err := syntax.Parse(pattern, syntax.Perl&^syntax.OneLine)
	if err != nil {
		return pattern // which is told when it is compiled
	}
	return insertOptionalCR(parsed, multiline).String()
}

// insertOptionalCR inserts an optional carriage return before each end of a line in a pattern.
func insertOptionalCR(re *syntax.Regexp, multiline bool) *syntax.Regexp {
	for i, part := range re.Sub {
		re.Sub[i] = insertOptionalCR(part, multiline)
	}
	dollar := re.Op == syntax.OpEndText && re.Flags&syntax.WasDollar != 0 // (?-m:$)
	if re.Op != syntax.OpEndLine && (!dollar || multiline) {
		return re
	}
	flags := re.Flags &^ syntax.WasDollar
	end := &syntax.Regexp{Op: syntax.OpEndLine, Flags: flags}
	cr := &syntax.Regexp{Op: syntax.OpLiteral, Flags: flags, Rune: []rune{'\r'}}
	perhaps := &syntax.Regexp{Op: syntax.OpQuest, Flags: flags | syntax.NonGreedy, Sub: []*syntax.Regexp{cr}}
	return &syntax.Regexp{Op: syntax.OpConcat, Flags: flags, Sub: []*syntax.Regexp{perhaps, end}}
}

// allowPosixCRLF is like allowCRLF for a portable pattern.
func allowPosixCRLF(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern):
			b.WriteString(pattern[i : i+2])
			i++
		case c == '$':
			b.WriteString("\r?$")
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

const (
	// maxGlob limits the length of a glob in bytes; no path is longer
	maxGlob = 4096
	// maxCombinations limits the combinations of a glob's alternatives, because each may be tried for each name
	maxCombinations = 1000
)

// globHint is the hint for an invalid glob.
const globHint = "* stands for any part of a name, ** for any directories, {a,b} for either; write a backslash before a literal one"

// validateGlob refuses an invalid or too expensive glob. Its error names the argument.
func validateGlob(argument, glob string) error {
	switch {
	case len(glob) > maxGlob:
		return sdk.Errorf(sdk.InvalidArgument, "%s is %d bytes long; at most %d are taken", argument, len(glob), maxGlob)
	case glob == "" || !doublestar.ValidatePattern(glob):
		return sdk.Errorf(sdk.InvalidArgument, "%s is not a glob: %q", argument, glob).WithHint(globHint)
	}
	if n, _ := countCombinations(glob, 0, false); n > maxCombinations {
		return sdk.Errorf(sdk.InvalidArgument, "the alternatives in %s make more than %d combinations", argument,
			maxCombinations).
			WithHint("request fewer at a time")
	}
	return nil
}

// countCombinations counts the combinations of a glob's alternatives from an offset, up to the limit.
func countCombinations(glob string, at int, inside bool) (n, end int) {
	n = 1
	for at < len(glob) {
		switch c := glob[at]; {
		case c == '\\':
			at += 2
		case c == '[':
			for at++; at < len(glob) && glob[at] != ']'; at++ {
				if glob[at] == '\\' {
					at++
				}
			}
			at++
		case c == '{':
			sum := 0
			for more := true; more && at < len(glob); {
				var one int
				one, at = countCombinations(glob, at+1, true)
				sum = min(sum+one, maxCombinations+1)
				more = at < len(glob) && glob[at] == ','
			}
			n = min(n*sum, maxCombinations+1)
			at++
		case inside && (c == ',' || c == '}'):
			return n, at
		default:
			at++
		}
	}
	return n, at
}

//go:embed filetypes.json
var fileTypesJSON []byte

// globsByFileType returns the globs for each file type in the arguments. They are the same for every engine.
var globsByFileType = sync.OnceValue(func() (globs map[string][]string) {
	if err := json.Unmarshal(fileTypesJSON, &globs); err != nil {
		panic(err) // a test reads them
	}
	return globs
})

// fileTypeGlobs returns the globs of a file type; nil for all files.
func fileTypeGlobs(name string) ([]string, error) {
	if name == "" {
		return nil, nil
	}
	all := globsByFileType()
	if globs, ok := all[name]; ok {
		return globs, nil
	}
	return nil, sdk.Errorf(sdk.InvalidArgument, "the file type %q is not known", name).
		WithHint("known are %s; include takes any glob", strings.Join(slices.Sorted(maps.Keys(all)), ", "))
}
