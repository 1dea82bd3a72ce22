package audit

import (
	"path"
	"strings"
	"time"
)

// Filter says which records are wanted. The zero value wants all.
type Filter struct {
	Agent   string
	Session string
	Tool    string // a name or glob, of the full name or its last part
	Denied  bool   // only what was not allowed
	Failed  bool   // only what ended with an error
	Since   time.Time
}

// Matches reports whether a record is wanted.
func (f Filter) Matches(r Record) bool {
	switch {
	case f.Agent != "" && r.Agent != f.Agent,
		f.Session != "" && r.Session != f.Session,
		f.Tool != "" && !matchesTool(f.Tool, r.Tool),
		f.Denied && !r.Denied(),
		f.Failed && r.Error == "",
		!f.Since.IsZero() && r.Time.Before(f.Since):
		return false
	}
	return true
}

// Denied reports whether the call was not made.
func (r Record) Denied() bool {
	return r.Decision == "deny" || r.Decision == "ask" && r.Answer != "yes"
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
