package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/prompt"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/terminal"
	"github.com/picoclaw/picoclaw/internal/nearest"
)

// verbs are what a line can begin with that is no tool.
var verbs = []struct{ name, doc string }{
	{"help", "help, or help TOOL: what there is, and what a tool takes"},
	{"explain", "explain TOOL key=value …: whether it would be allowed, and by which rule"},
	{"exit", "leave, as Ctrl-D does"},
}

// verb is what a line begins with, in the words of this program: people bring those of others, such as :q and .help.
func verb(word string) string {
	name := strings.TrimLeft(word, `.:/\`)
	foreign := name != word
	switch {
	case name == "?", name == "--help", name == "-h", foreign && name == "h":
		return "help"
	case name == "quit", foreign && (name == "q" || name == "q!" || name == "wq"):
		return "exit"
	case foreign && slices.ContainsFunc(verbs, func(v struct{ name, doc string }) bool { return v.name == name }):
		return name
	}
	return word
}

// help lists the tools, or says what one takes.
func (r *replOptions) help(words []string) error {
	if len(words) > 0 {
		return r.helpTool(words[0])
	}
	table := terminal.NewTable("TOOL", "WHAT IT DOES")
	for _, t := range r.session.Tools() {
		table.Row(t.Name, t.Spec.Doc)
		table.Style(0, terminal.Name)
	}
	for _, v := range verbs {
		table.Row(v.name, v.doc)
		table.Style(0, terminal.Bold)
	}
	return table.Write(r.out)
}

func (r *replOptions) helpTool(name string) error {
	var names []string
	for _, t := range r.session.Tools() {
		names = append(names, t.Name)
		if name != t.Name && name != t.Plugin+"."+t.Spec.Name {
			continue
		}
		schema, err := t.Spec.Input.Parse()
		if err != nil {
			return err
		}
		fmt.Fprintln(r.out, t.Spec.Doc)
		table := terminal.NewTable("ARGUMENT", "TYPE", "", "WHAT IT IS")
		for _, key := range propertyNames(schema) {
			needed := ""
			if slices.Contains(schema.Required, key) {
				needed = "needed"
			}
			table.Row(key, typeOf(schema.Properties[key]), needed, schema.Properties[key].Description)
			table.Style(0, terminal.Name)
		}
		return table.Write(r.out)
	}
	return fmt.Errorf("there is no tool %q%s", name, nearest.Suggest(name, names))
}

func typeOf(s *jsonschema.Schema) string {
	types := slices.DeleteFunc(append(slices.Clone(s.Types), s.Type),
		func(t string) bool { return t == "" || t == "null" })
	return cmp.Or(strings.Join(types, " or "), "any")
}

// complete proposes how the last word of a line can go on.
func (r *replOptions) complete(line string) prompt.Proposals {
	words, last, ok := prompt.SplitOpen(line)
	if !ok {
		return prompt.Proposals{}
	}
	var found []string
	if len(words) > 0 && (words[0] == "explain" || words[0] == "help") {
		words = words[1:]
	} else if len(words) == 0 {
		for _, v := range verbs {
			found = append(found, v.name)
		}
	}
	completions, whole := completeWord(r.session, words, last)
	for _, c := range completions {
		name, _, _ := strings.Cut(c, "\t") // a description is behind it
		found = append(found, name)
	}
	return prompt.Proposals{Last: last, Words: found, Whole: whole}
}
