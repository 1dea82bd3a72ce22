package programs

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

//go:embed data/*.json
var files embed.FS

// table finds a program by its name. The program "*" stands for those that aren't known.
var table = sync.OnceValue(func() map[string]*entry {
	list, err := load()
	if err != nil {
		panic(err) // the data are part of the program
	}
	return index(list)
})

// load reads the entries of all files.
func load() ([]*entry, error) {
	dir, err := files.ReadDir("data")
	if err != nil {
		return nil, err
	}
	var all []*entry
	for _, file := range dir {
		text, err := files.ReadFile("data/" + file.Name())
		if err != nil {
			return nil, err
		}
		var list []*entry
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, fmt.Errorf("the programs of %s: %w", file.Name(), err)
		}
		all = append(all, list...)
	}
	return all, nil
}

// index puts the entries in order: programs by their names, and verbs below their programs.
func index(list []*entry) map[string]*entry {
	m := make(map[string]*entry, 2*len(list))
	for _, e := range list {
		e.finish()
		if e.Verb != "" {
			continue
		}
		for name := range strings.FieldsSeq(e.Program) {
			if e.first == "" {
				e.first = name
			}
			m[name] = e
		}
		for name := range strings.FieldsSeq(e.Alias) {
			if e.aliases == nil {
				e.aliases = map[string]bool{}
			}
			e.aliases[name], m[name] = true, e
		}
	}
	// What holds for any verb comes first, and phrases come behind the words that they begin with.
	for _, order := range []func(verb string) bool{
		func(verb string) bool { return verb == "*" },
		func(verb string) bool { return verb != "*" && verb != "" && !strings.Contains(verb, " ") },
		func(verb string) bool { return strings.Contains(verb, " ") },
	} {
		for _, e := range list {
			if order(e.Verb) {
				addVerb(m, e)
			}
		}
	}
	return m
}

// addVerb adds a verb to its programs, which then share their entries with no others.
func addVerb(m map[string]*entry, verb *entry) {
	for name := range strings.FieldsSeq(verb.Program) {
		switch e := m[name]; {
		case e == nil:
			m[name] = (&entry{first: name}).clone()
		case !e.own:
			m[name] = e.clone()
		}
		m[name].own = true
		m[name].put(verb.clone())
	}
}

// put adds a verb. It has what the entry for any verb has, or else what the program has.
func (e *entry) put(verb *entry) {
	word, second, phrase := strings.Cut(verb.Verb, " ")
	parent := e
	if other := e.verbs["*"]; other != nil {
		parent = other
	}
	if phrase {
		between := e.verbs[word]
		if between == nil {
			between = (&entry{Operands: parent.Operands}).clone()
			between.inherit(parent)
			e.verbs[word] = between
		}
		e, parent, word = between, between, second
	}
	verb.inherit(parent)
	e.verbs[word] = verb
}
