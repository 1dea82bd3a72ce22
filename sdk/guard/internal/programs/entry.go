package programs

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
)

// programEntry is the data of a program or of one of its verbs, from a JSON file.
type programEntry struct {
	Program  string      `json:"program"`  // names, separated by spaces
	Alias    string      `json:"alias"`    // more names for the first name in Program
	Verb     string      `json:"verb"`     // one or two words; "*" matches any other verb
	Operands string      `json:"operands"` // roles in order; "read..." repeats, and later roles are for the last operands
	Unless   optionNames `json:"unless"`   // options that replace an operand: the first one, or the last of "read... write"
	Style    string      `json:"style"`    // "single", "slash", "bare" or "stop": see getopt.OptionSet
	Lang     string      `json:"lang"`     // language of code arguments; default "sh"
	Input    string      `json:"input"`    // language of standard input, if no argument is code
	Handler  string      `json:"handler"`  // name of a handler function, if data can't describe the uses

	// Options by the kind of their values. A "?" after an option means that its value, if any, is attached to it.
	Data    optionNames `json:"data"`
	Path    optionNames `json:"path"`
	Read    optionNames `json:"read"`
	Write   optionNames `json:"write"`
	List    optionNames `json:"list"`
	Delete  optionNames `json:"delete"`
	Enter   optionNames `json:"enter"`
	Code    optionNames `json:"code"`
	Command optionNames `json:"command"` // the value, or else the next operand, begins a command
	Script  optionNames `json:"script"`
	Flag    optionNames `json:"flag"`    // no value, although a longer option with this prefix, or the program's option, has one
	Several optionNames `json:"several"` // "--arg data data, --slurpfile data read"

	firstName  string          // first name in Program
	aliases    map[string]bool // names in Alias
	unshared   bool            // only one program name has this entry
	parent     *programEntry   // of a verb
	verbs      map[string]*programEntry
	roles      []operandRole // of the operands
	tailLen    int           // number of roles after the repeated one
	optionSpec func() getopt.OptionSet
}

// optionNames are option names separated by spaces. JSON may split a long list into an array of lines.
type optionNames string

// UnmarshalJSON accepts a string or an array of strings.
func (o *optionNames) UnmarshalJSON(text []byte) error {
	if text[0] != '[' {
		return json.Unmarshal(text, (*string)(o))
	}
	var lines []string
	err := json.Unmarshal(text, &lines)
	*o = optionNames(strings.Join(lines, " "))
	return err
}

// operandRole is the kind of an operand, which may repeat.
type operandRole struct {
	kind    ArgumentKind
	repeats bool
}

// kindsByName maps role names in the data to kinds.
var kindsByName = map[string]ArgumentKind{
	"data": Data, "path": Path, "read": Read, "write": Write, "list": List, "delete": Delete, "enter": Enter,
	"code": Code, "command": Command, "script": Script,
}

// parseOperandRoles parses the field Operands into roles, and prepares the option spec.
func (e *programEntry) parseOperandRoles() {
	e.verbs = map[string]*programEntry{}
	e.Operands = cmp.Or(e.Operands, "path...")
	for word := range strings.FieldsSeq(e.Operands) {
		name, repeat := strings.CutSuffix(word, "...")
		e.roles = append(e.roles, operandRole{kindsByName[name], repeat})
	}
	if at := slices.IndexFunc(e.roles, func(r operandRole) bool { return r.repeats }); at >= 0 {
		e.tailLen = len(e.roles) - 1 - at
	}
	e.optionSpec = sync.OnceValue(e.buildOptionSpec)
}

// cloneWithoutVerbs returns an entry with the same fields and without verbs.
func (e *programEntry) cloneWithoutVerbs() *programEntry {
	clone := *e
	clone.roles = nil
	clone.parseOperandRoles()
	return &clone
}

// inheritFields sets empty fields of a verb from its parent.
func (e *programEntry) inheritFields(parent *programEntry) {
	e.parent = parent
	e.Lang = cmp.Or(e.Lang, parent.Lang)
	e.Handler = cmp.Or(e.Handler, parent.Handler)
	if e.Style == "" && parent.Style != "stop" {
		e.Style = parent.Style
	}
}

func (e *programEntry) buildOptionSpec() getopt.OptionSet {
	s := getopt.OptionSet{Values: map[string]string{}}
	if e.parent != nil {
		maps.Copy(s.Values, e.parent.optionSpec().Values)
	}
	style := strings.Fields(e.Style)
	s.Single, s.Bare = slices.Contains(style, "single"), slices.Contains(style, "bare")
	s.Slash = slices.Contains(style, "slash")
	for i, r := range e.roles {
		// A started program has options of its own.
		last := i == len(e.roles)-1
		if s.Stop == 0 && (r.kind == Command || r.kind == Script && !r.repeats || r.kind == Code && last && !r.repeats) {
			s.Stop = i + 1
		}
	}
	if slices.Contains(style, "stop") {
		s.Stop = 1
	}
	for roles, names := range e.optionsByRole() {
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
				roles += string(rune(kindsByName[word]))
			}
			s.Values[words[0]] = roles
		}
	}
	return s
}

// optionsByRole returns the entry's options by the getopt roles of their values. No option has several roles.
func (e *programEntry) optionsByRole() map[string]optionNames {
	return map[string]optionNames{
		string(Data): e.Data, string(Path): e.Path, string(Read): e.Read, string(Write): e.Write, string(List): e.List,
		string(Delete): e.Delete, string(Enter): e.Enter, string(Code): e.Code, string(Script): e.Script,
		string(getopt.Rest) + string(Command): e.Command, "": e.Flag,
	}
}

// hasUnknownOperand reports whether an operand has the role Path, whose use is unknown.
func (e *programEntry) hasUnknownOperand() bool {
	return slices.ContainsFunc(e.roles, func(r operandRole) bool { return r.kind == Path })
}

// findOperandRole returns the role of operand n of count. skip is the number of operands that options replace.
func (e *programEntry) findOperandRole(n, count, skip int) operandRole {
	roles, tail := e.roles, e.tailLen
	if skip > 0 && tail > 0 && roles[0].repeats {
		roles, tail = roles[:len(roles)-1], tail-1
	} else {
		roles = roles[min(skip, len(roles)-1):]
	}
	star := len(roles) - 1 - tail
	switch left := count - n; {
	case left <= tail && n >= star:
		return roles[len(roles)-left]
	case n < star:
		return roles[n]
	default:
		return roles[max(star, 0)]
	}
}

//go:embed data/*.json
var dataFiles embed.FS

// loadTable returns the entries by program name. The entry "*" has the options of unknown programs.
var loadTable = sync.OnceValue(func() map[string]*programEntry {
	list, err := readEntries()
	if err != nil {
		panic(err) // the data are part of the program
	}
	return indexEntries(list)
})

func readEntries() ([]*programEntry, error) {
	dir, err := dataFiles.ReadDir("data")
	if err != nil {
		return nil, err
	}
	var all []*programEntry
	for _, file := range dir {
		text, err := dataFiles.ReadFile("data/" + file.Name())
		if err != nil {
			return nil, err
		}
		var list []*programEntry
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, fmt.Errorf("the programs of %s: %w", file.Name(), err)
		}
		all = append(all, list...)
	}
	return all, nil
}

// indexEntries maps program names to entries, and adds verbs to their programs.
func indexEntries(list []*programEntry) map[string]*programEntry {
	m := make(map[string]*programEntry, 2*len(list))
	for _, e := range list {
		e.parseOperandRoles()
		if e.Verb != "" {
			continue
		}
		for name := range strings.FieldsSeq(e.Program) {
			e.firstName = cmp.Or(e.firstName, name)
			m[name] = e
		}
		for name := range strings.FieldsSeq(e.Alias) {
			if e.aliases == nil {
				e.aliases = map[string]bool{}
			}
			e.aliases[name], m[name] = true, e
		}
	}
	// The entry for any verb comes first, phrases after the words that they begin with.
	for _, matchesPass := range []func(verb string) bool{
		func(verb string) bool { return verb == "*" },
		func(verb string) bool { return verb != "*" && verb != "" && !strings.Contains(verb, " ") },
		func(verb string) bool { return strings.Contains(verb, " ") },
	} {
		for _, e := range list {
			if matchesPass(e.Verb) {
				addVerbToPrograms(m, e)
			}
		}
	}
	return m
}

// addVerbToPrograms adds a verb to each of its programs. Each program gets its own copy of the verb.
func addVerbToPrograms(m map[string]*programEntry, verb *programEntry) {
	for name := range strings.FieldsSeq(verb.Program) {
		switch e := m[name]; {
		case e == nil:
			m[name] = (&programEntry{firstName: name}).cloneWithoutVerbs()
		case !e.unshared:
			m[name] = e.cloneWithoutVerbs()
		}
		m[name].unshared = true
		m[name].addInheritedVerb(verb.cloneWithoutVerbs())
	}
}

// addInheritedVerb adds a verb. It inherits fields from the entry for any verb, or else from the program.
func (e *programEntry) addInheritedVerb(verb *programEntry) {
	word, second, phrase := strings.Cut(verb.Verb, " ")
	parent := cmp.Or(e.verbs["*"], e)
	if phrase {
		between := e.verbs[word]
		if between == nil {
			between = (&programEntry{Operands: parent.Operands}).cloneWithoutVerbs()
			between.inheritFields(parent)
			e.verbs[word] = between
		}
		e, parent, word = between, between, second
	}
	verb.inheritFields(parent)
	e.verbs[word] = verb
}
