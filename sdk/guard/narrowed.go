package guard

import (
	"regexp"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// longSpan is from how many bytes on a span is narrowed, if it is one line.
const longSpan = 80

// narrowed is the part of a command's text that a finding is about, within the span of the command that runs it: people would have to
// look for it in a here-document of fifty lines. It is the simple command itself, or else the path that is refused in code of several
// lines, if it is found there as it is written, once. Otherwise it is the span.
func narrowed(text string, f *finding) shell.Span {
	span := f.span
	if span.Start < 0 || span.Start > span.End || span.End > len(text) {
		return span
	}
	outer := text[span.Start:span.End]
	if len(outer) <= longSpan && !strings.Contains(outer, "\n") {
		return span
	}
	for _, find := range []*regexp.Regexp{commandPattern(f.argv), pathPattern(f.why, outer)} {
		if find == nil {
			continue
		}
		if at := find.FindAllStringSubmatchIndex(outer, 2); len(at) == 1 && at[0][2] > 0 {
			before := outer[:at[0][2]]
			span.Start, span.End = span.Start+at[0][2], span.Start+at[0][3]
			if lines := strings.Count(before, "\n"); lines > 0 {
				span.Line, span.Column = span.Line+lines, len(before)-strings.LastIndexByte(before, '\n')
			} else {
				span.Column += len(before)
			}
			break
		}
	}
	return span
}

// maxNarrowed is how long, in bytes, what is looked for may be.
const maxNarrowed = 256

// commandPattern finds a simple command, its words apart by blanks or as the strings of a list.
func commandPattern(argv []string) *regexp.Regexp {
	words, size := make([]string, len(argv)), 0
	for i, arg := range argv {
		if words[i], size = regexp.QuoteMeta(arg), size+len(arg); arg == "" || marks.Replace(arg) != arg {
			return nil
		}
	}
	if len(words) == 0 || size > maxNarrowed {
		return nil
	}
	return whole(strings.Join(words, `["'\\\s,]+`))
}

// pathPattern finds the path that a reason begins with, in code of several lines.
func pathPattern(why, code string) *regexp.Regexp {
	path, _, ok := strings.Cut(why, ": ")
	if !ok || path == "" || len(path) > maxNarrowed || strings.ContainsAny(path, " \n") || !strings.Contains(code, "\n") {
		return nil
	}
	return whole(regexp.QuoteMeta(path))
}

// whole finds what isn't a part of a longer word; nil if it can't be looked for, as it isn't UTF-8.
func whole(pattern string) *regexp.Regexp {
	find, err := regexp.Compile(`(?:^|[^\w./-])(` + pattern + `)(?:$|[^\w./-])`)
	if err != nil {
		return nil
	}
	return find
}
