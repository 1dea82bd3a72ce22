package audit

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Filter selects audit entries. The zero value selects all.
type Filter struct {
	Agent    string
	Session  string
	Tool     string // name or glob, of the full name or its last part
	Origin   string
	Decision string // allow, ask or deny
	Text     string // text in the rule, the error or the arguments
	Denied   bool   // only refused calls
	Failed   bool   // only calls that failed
	Since    time.Time
	Until    time.Time // exclusive
}

// Matches reports whether the filter selects an entry.
func (f Filter) Matches(r Record) bool {
	switch {
	case f.Agent != "" && r.Agent != f.Agent,
		f.Session != "" && r.Session != f.Session,
		f.Tool != "" && !matchesToolPattern(f.Tool, r.Tool),
		f.Origin != "" && r.Origin != f.Origin,
		f.Decision != "" && r.Decision != f.Decision,
		f.Denied && !r.WasDenied(),
		f.Failed && r.Error == "",
		!f.Since.IsZero() && r.Time.Before(f.Since),
		!f.Until.IsZero() && !r.Time.Before(f.Until),
		f.Text != "" && !r.containsText(f.Text):
		return false
	}
	return true
}

// WasDenied reports whether the call was refused.
func (r Record) WasDenied() bool {
	return r.Decision == "deny" || r.Decision == "ask" && r.Answer != "yes"
}

func (r Record) containsText(text string) bool {
	if strings.Contains(r.Rule, text) || strings.Contains(r.Error, text) {
		return true
	}
	args, err := encodeArgs(r)
	quoted, _ := jsontext.AppendQuote(nil, text)
	return err == nil && strings.Contains(args, string(quoted[1:len(quoted)-1]))
}

func matchesToolPattern(pattern, name string) bool {
	short := name[strings.LastIndex(name, ".")+1:]
	return slices.ContainsFunc([]string{name, short}, func(candidate string) bool {
		ok, err := path.Match(pattern, candidate)
		return ok && err == nil
	})
}

// DecisionNames returns the decisions that entries can have.
func DecisionNames() []string { return []string{"allow", "ask", "deny"} }

// ParseFilter parses a filter. get returns the text of a field by its lower-case name. An error begins with the name.
func ParseFilter(get func(name string) string, now time.Time) (Filter, error) {
	f := Filter{Agent: get("agent"), Session: get("session"), Tool: get("tool"), Origin: get("origin"),
		Decision: get("decision"), Text: get("text"), Denied: get("denied") == "true", Failed: get("failed") == "true"}
	if _, err := path.Match(f.Tool, ""); err != nil {
		return f, fmt.Errorf("tool %q is not a name or a glob", f.Tool)
	}
	if f.Decision != "" && !slices.Contains(DecisionNames(), f.Decision) {
		return f, fmt.Errorf("decision %q: want one of %s", f.Decision, strings.Join(DecisionNames(), ", "))
	}
	for name, to := range map[string]*time.Time{"since": &f.Since, "until": &f.Until} {
		at, err := parseFilterTime(get(name), now)
		if err != nil {
			return f, fmt.Errorf("%s %w", name, err)
		}
		*to = at
	}
	return f, nil
}

// parseFilterTime parses a time in a filter: a duration before now, a day, or a timestamp. Empty text is the zero time.
func parseFilterTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.AddDate(0, 0, -int(n)), nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05",
		"2006-01-02 15:04", "2006-01-02"} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q: want how long ago, such as 90m, 24h or 7d, or a time, such as 2006-01-02 or 2006-01-02T15:04:05Z", text)
}

// linePrefilter rejects lines by their bytes, because parsing takes much longer. It never rejects a line that the filter
// selects. Each element is a set of texts, of which a line must contain at least one.
type linePrefilter [][][]byte

func (f Filter) buildLineFilter() linePrefilter {
	var s linePrefilter
	need := func(texts ...string) {
		var set [][]byte
		for _, text := range texts {
			if text != "" {
				set = append(set, []byte(text))
			}
		}
		if set != nil {
			s = append(s, set)
		}
	}
	member := func(name, text string) {
		if part := longestUnescapedPart(text); part == text && part != "" {
			need(`,"` + name + `":"` + text + `"`)
		} else {
			need(part)
		}
	}
	member("session", f.Session) // probably the rarest first
	need(longestUnescapedPart(f.Text))
	if !strings.ContainsAny(f.Tool, `[\`) {
		for _, part := range strings.FieldsFunc(f.Tool, func(c rune) bool { return c == '*' || c == '?' }) {
			need(longestUnescapedPart(part))
		}
	}
	member("agent", f.Agent)
	member("origin", f.Origin)
	member("decision", f.Decision)
	if f.Denied {
		need(`"decision":"deny"`, `"decision":"ask"`)
	}
	if f.Failed {
		need(`"error":"`)
	}
	return s
}

// longestUnescapedPart returns the longest part of a text that every JSON encoder leaves unescaped.
func longestUnescapedPart(text string) string {
	longest := ""
	escaped := func(c rune) bool { return c < ' ' || strings.ContainsRune("\"\\<>&\x7f\u2028\u2029\uFFFD", c) }
	for _, part := range strings.FieldsFunc(text, escaped) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

// firstCandidateOffset returns the offset of the first line that may match, or the end of lines.
func (s linePrefilter) firstCandidateOffset(lines []byte) int {
	if len(s) == 0 || len(s[0]) > 1 {
		return 0
	}
	at := bytes.Index(lines, s[0][0])
	if at < 0 {
		return len(lines)
	}
	return bytes.LastIndexByte(lines[:at], '\n') + 1
}

// mayMatch reports whether any of the lines may match.
func (s linePrefilter) mayMatch(lines []byte) bool {
	for _, set := range s {
		if !slices.ContainsFunc(set, func(text []byte) bool { return bytes.Contains(lines, text) }) {
			return false
		}
	}
	return true
}
