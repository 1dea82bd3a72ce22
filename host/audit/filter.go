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

// Filter says which records are wanted. The zero value wants all.
type Filter struct {
	Agent    string
	Session  string
	Tool     string // a name or glob, of the full name or its last part
	Origin   string
	Decision string // allow, ask or deny
	Text     string // what is in the rule, the error or the arguments
	Denied   bool   // only what was not allowed
	Failed   bool   // only what ended with an error
	Since    time.Time
	Until    time.Time // before it
}

// Matches reports whether a record is wanted.
func (f Filter) Matches(r Record) bool {
	switch {
	case f.Agent != "" && r.Agent != f.Agent,
		f.Session != "" && r.Session != f.Session,
		f.Tool != "" && !matchesTool(f.Tool, r.Tool),
		f.Origin != "" && r.Origin != f.Origin,
		f.Decision != "" && r.Decision != f.Decision,
		f.Denied && !r.Denied(),
		f.Failed && r.Error == "",
		!f.Since.IsZero() && r.Time.Before(f.Since),
		!f.Until.IsZero() && !r.Time.Before(f.Until),
		f.Text != "" && !r.says(f.Text):
		return false
	}
	return true
}

// Denied reports whether the call was not made.
func (r Record) Denied() bool {
	return r.Decision == "deny" || r.Decision == "ask" && r.Answer != "yes"
}

func (r Record) says(text string) bool {
	if strings.Contains(r.Rule, text) || strings.Contains(r.Error, text) {
		return true
	}
	args, err := argsText(r)
	quoted, _ := jsontext.AppendQuote(nil, text)
	return err == nil && strings.Contains(args, string(quoted[1:len(quoted)-1]))
}

func matchesTool(pattern, name string) bool {
	short := name[strings.LastIndex(name, ".")+1:]
	for _, candidate := range []string{name, short} {
		if ok, err := path.Match(pattern, candidate); ok && err == nil {
			return true
		}
	}
	return false
}

// Decisions are those of records.
func Decisions() []string { return []string{"allow", "ask", "deny"} }

// ParseFilter reads a filter from texts, which have the names of its fields, in small letters. Errors begin with the
// name.
func ParseFilter(get func(name string) string, now time.Time) (Filter, error) {
	f := Filter{Agent: get("agent"), Session: get("session"), Tool: get("tool"), Origin: get("origin"),
		Decision: get("decision"), Text: get("text"), Denied: get("denied") == "true", Failed: get("failed") == "true"}
	if _, err := path.Match(f.Tool, ""); err != nil {
		return f, fmt.Errorf("tool %q is not a name or a glob", f.Tool)
	}
	if f.Decision != "" && !slices.Contains(Decisions(), f.Decision) {
		return f, fmt.Errorf("decision %q: want one of %s", f.Decision, strings.Join(Decisions(), ", "))
	}
	for name, to := range map[string]*time.Time{"since": &f.Since, "until": &f.Until} {
		at, err := parseTime(get(name), now)
		if err != nil {
			return f, fmt.Errorf("%s %w", name, err)
		}
		*to = at
	}
	return f, nil
}

// parseTime reads a time as people give it: how long ago, a day, or a moment. None is the zero time.
func parseTime(text string, now time.Time) (time.Time, error) {
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

// sieve holds lines back that a filter does not want, by their bytes alone: to read a record takes many times as long.
// What it lets through may still be unwanted. Each set is of texts of which a line has one.
type sieve [][][]byte

func (f Filter) sieve() sieve {
	var s sieve
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
		if part := literal(text); part == text && part != "" {
			need(`,"` + name + `":"` + text + `"`)
		} else {
			need(part)
		}
	}
	member("session", f.Session) // what is rarest, most likely, comes first
	need(literal(f.Text))
	if !strings.ContainsAny(f.Tool, `[\`) {
		for _, part := range strings.FieldsFunc(f.Tool, func(c rune) bool { return c == '*' || c == '?' }) {
			need(literal(part))
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

// literal returns the longest part of a text that is in a line as it is, whoever has written it as JSON.
func literal(text string) string {
	longest := ""
	escaped := func(c rune) bool { return c < ' ' || strings.ContainsRune("\"\\<>&\x7f\u2028\u2029\uFFFD", c) }
	for _, part := range strings.FieldsFunc(text, escaped) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

// first returns where the first of some lines begins that may be wanted, as far as one text tells; their end if none
// does.
func (s sieve) first(lines []byte) int {
	if len(s) == 0 || len(s[0]) > 1 {
		return 0
	}
	at := bytes.Index(lines, s[0][0])
	if at < 0 {
		return len(lines)
	}
	return bytes.LastIndexByte(lines[:at], '\n') + 1
}

// passes reports whether a line, or one of many, may be of a wanted record.
func (s sieve) passes(lines []byte) bool {
	for _, set := range s {
		found := false
		for _, text := range set {
			found = found || bytes.Contains(lines, text)
		}
		if !found {
			return false
		}
	}
	return true
}
