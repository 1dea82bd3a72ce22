package programs

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

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
