package programs

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
)

// entry is what the data say of a program, or of one of its verbs, which adds to what the program has.
type entry struct {
	Program  string  `json:"program"`  // names, separated by spaces
	Alias    string  `json:"alias"`    // more names of the first program
	Verb     string  `json:"verb"`     // one or two words; "*" is any other verb
	Operands string  `json:"operands"` // roles in their order; "read..." repeats, roles behind it are the last ones
	Unless   options `json:"unless"`   // options that stand for an operand: the first, or the last of "read... write"
	Style    string  `json:"style"`    // "single", "slash", "bare" or "stop": see getopt.Spec
	Lang     string  `json:"lang"`     // of its code; "sh" if it is empty
	Input    string  `json:"input"`    // the language of its standard input, where nothing else is code
	Handler  string  `json:"handler"`  // what finds the uses, if not the data alone

	// Options by the role of their value. An option with "?" behind it has only a value that is attached to it.
	Data    options `json:"data"`
	Path    options `json:"path"`
	Read    options `json:"read"`
	Write   options `json:"write"`
	List    options `json:"list"`
	Delete  options `json:"delete"`
	Enter   options `json:"enter"`
	Code    options `json:"code"`
	Command options `json:"command"` // the value, or else the next operand, begins a command
	Script  options `json:"script"`
	Flag    options `json:"flag"`    // has no value, though a longer option that begins so has one, or the program's
	Several options `json:"several"` // "--arg data data, --slurpfile data read"

	first   string          // of the names
	aliases map[string]bool // of the first
	own     bool            // no other name shares it
	parent  *entry          // of a verb
	verbs   map[string]*entry
	roles   []role // of the operands
	tail    int    // how many roles stand behind the repeated one
	spec    func() getopt.Spec
}

// options are names of options, separated by spaces. A list of many may be written as an array of lines.
type options string

// UnmarshalJSON implements [json.Unmarshaler].
func (o *options) UnmarshalJSON(text []byte) error {
	if text[0] != '[' {
		return json.Unmarshal(text, (*string)(o))
	}
	var lines []string
	err := json.Unmarshal(text, &lines)
	*o = options(strings.Join(lines, " "))
	return err
}

// role is what an operand is for.
type role struct {
	kind   Kind
	repeat bool
}

// kinds are the names of the kinds in the data.
var kinds = map[string]Kind{
	"data": Data, "path": Path, "read": Read, "write": Write, "list": List, "delete": Delete, "enter": Enter,
	"code": Code, "command": Command, "script": Script,
}

// finish works out what follows from the fields. A verb has what it doesn't say itself from its parent.
func (e *entry) finish() {
	e.verbs = map[string]*entry{}
	if e.Operands == "" {
		e.Operands = "path..."
	}
	for word := range strings.FieldsSeq(e.Operands) {
		name, repeat := strings.CutSuffix(word, "...")
		e.roles = append(e.roles, role{kinds[name], repeat})
	}
	if at := slices.IndexFunc(e.roles, func(r role) bool { return r.repeat }); at >= 0 {
		e.tail = len(e.roles) - 1 - at
	}
	e.spec = sync.OnceValue(e.known)
}

// clone is an entry with the same fields, which has no verbs yet.
func (e *entry) clone() *entry {
	own := *e
	own.roles = nil
	own.finish()
	return &own
}

// inherit gives a verb what it doesn't say itself.
func (e *entry) inherit(parent *entry) {
	e.parent = parent
	if e.Lang == "" {
		e.Lang = parent.Lang
	}
	if e.Handler == "" {
		e.Handler = parent.Handler
	}
	if e.Style == "" && parent.Style != "stop" {
		e.Style = parent.Style
	}
}

// known are the options of the entry and of those that it belongs to.
func (e *entry) known() getopt.Spec {
	s := getopt.Spec{Values: map[string]string{}}
	if e.parent != nil {
		maps.Copy(s.Values, e.parent.spec().Values)
	}
	style := strings.Fields(e.Style)
	s.Single, s.Bare = slices.Contains(style, "single"), slices.Contains(style, "bare")
	s.Slash = slices.Contains(style, "slash")
	for i, r := range e.roles {
		// What a program starts has options of its own.
		last := i == len(e.roles)-1
		if s.Stop == 0 && (r.kind == Command || r.kind == Script && !r.repeat || r.kind == Code && last && !r.repeat) {
			s.Stop = i + 1
		}
	}
	if slices.Contains(style, "stop") {
		s.Stop = 1
	}
	for names, roles := range e.byRole() {
		for name := range strings.FieldsSeq(string(names)) {
			if plain, attached := strings.CutSuffix(name, "?"); attached && len(plain) > 1 {
				s.Values[plain] = string(getopt.Attached) + roles
			} else {
				s.Values[name] = roles
			}
		}
	}
	for part := range strings.SplitSeq(string(e.Several), ",") {
		if words := strings.Fields(part); len(words) > 0 {
			roles := ""
			for _, word := range words[1:] {
				roles += string(rune(kinds[word]))
			}
			s.Values[words[0]] = roles
		}
	}
	return s
}

// byRole are the options of the entry with the roles that getopt has for their values.
func (e *entry) byRole() func(yield func(names options, roles string) bool) {
	return func(yield func(names options, roles string) bool) {
		for _, o := range []struct {
			names options
			kind  Kind
		}{
			{e.Data, Data}, {e.Path, Path}, {e.Read, Read}, {e.Write, Write}, {e.List, List}, {e.Delete, Delete},
			{e.Enter, Enter}, {e.Code, Code}, {e.Script, Script},
		} {
			if !yield(o.names, string(rune(o.kind))) {
				return
			}
		}
		_ = yield(e.Command, string(getopt.Rest)+string(rune(Command))) && yield(e.Flag, "")
	}
}

// hasPath reports whether an operand may be anything.
func (e *entry) hasPath() bool {
	return slices.ContainsFunc(e.roles, func(r role) bool { return r.kind == Path })
}

// role is what the nth of the operands is for; skip is how many of them were given as options.
func (e *entry) role(n, of, skip int) role {
	roles, tail := e.roles, e.tail
	if skip > 0 && tail > 0 && roles[0].repeat {
		roles, tail = roles[:len(roles)-1], tail-1
	} else {
		roles = roles[min(skip, len(roles)-1):]
	}
	star := len(roles) - 1 - tail
	switch left := of - n; {
	case left <= tail && n >= star:
		return roles[len(roles)-left]
	case n < star:
		return roles[n]
	default:
		return roles[max(star, 0)]
	}
}
