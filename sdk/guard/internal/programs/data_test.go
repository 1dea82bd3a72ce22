package programs

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// entriesOf reads the entries of all files, and knows no fields but those of an entry.
func entriesOf(t *testing.T) []*programEntry {
	t.Helper()
	dir, err := dataFiles.ReadDir("data")
	if err != nil {
		t.Fatal(err)
	}
	var all []*programEntry
	for _, file := range dir {
		text, err := dataFiles.ReadFile("data/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		in := json.NewDecoder(bytes.NewReader(text))
		in.DisallowUnknownFields()
		var list []*programEntry
		if err := in.Decode(&list); err != nil {
			t.Errorf("%s: %v", file.Name(), err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if len(line) > 200 {
				t.Errorf("%s:%d: the line has %d characters", file.Name(), i+1, len(line))
			}
		}
		all = append(all, list...)
	}
	return all
}

// TestEntries checks that the data say only what the room understands, and say it once.
func TestEntries(t *testing.T) {
	described, used := map[string]bool{}, map[string]bool{}
	for _, e := range entriesOf(t) {
		at := e.Program + " " + e.Verb
		for _, name := range strings.Fields(e.Program + " " + e.Alias) {
			if key := name + " " + e.Verb; described[key] {
				t.Errorf("%s is described twice", key)
			} else {
				described[key] = true
			}
		}
		repeated := 0
		for _, word := range strings.Fields(e.Operands) {
			name, repeat := strings.CutSuffix(word, "...")
			if repeat {
				repeated++
			}
			if kindsByName[name] == 0 {
				t.Errorf("%s: an operand's role is %q", at, name)
			}
		}
		if repeated > 1 {
			t.Errorf("%s: more than one operand repeats", at)
		}
		for _, style := range strings.Fields(e.Style) {
			if !slices.Contains([]string{"single", "slash", "bare", "stop"}, style) {
				t.Errorf("%s: its style is %q", at, style)
			}
		}
		if len(strings.Fields(e.Verb)) > 2 || e.Program == "" || e.Verb != "" && e.Alias != "" {
			t.Errorf("%s: its names are wrong", at)
		}
		if handlers[e.Handler] == nil && e.Handler != "" {
			t.Errorf("%s: there is no handler %q", at, e.Handler)
		}
		used[e.Handler] = true
		checkOptions(t, at, e)
	}
	for name := range handlers {
		if !used[name] {
			t.Errorf("no program has the handler %q", name)
		}
	}
}

// checkOptions checks that options look like some, and have one role each.
func checkOptions(t *testing.T, at string, e *programEntry) {
	t.Helper()
	roles := map[string]string{}
	for role, names := range e.optionsByRole() {
		for _, name := range strings.Fields(string(names)) {
			plain := strings.TrimSuffix(name, "?")
			if before, ok := roles[plain]; ok {
				t.Errorf("%s: %s has the roles %s and %s", at, name, before, role)
			}
			if roles[plain] = role; !strings.HasPrefix(name, "-") && name != "+" && name != "!" {
				t.Errorf("%s: %s is no option", at, name)
			}
		}
	}
	for _, part := range strings.Split(string(e.Several), ",") {
		words := strings.Fields(part)
		for i, word := range words {
			if i > 0 && kindsByName[word] == 0 || i == 0 && (word[0] != '-' || len(words) < 3 || roles[word] != "") {
				t.Errorf("%s: it has %q", at, part)
			}
		}
	}
}

// TestVerbs checks that every verb is found behind its program.
func TestVerbs(t *testing.T) {
	for _, e := range entriesOf(t) {
		if e.Verb == "" || e.Verb == "*" {
			continue
		}
		for _, name := range strings.Fields(e.Program) {
			if c := parseProgramCall(name, strings.Fields(e.Verb)); c.entry.Verb != e.Verb {
				t.Errorf("%s %s is taken for %q", name, e.Verb, c.entry.Verb)
			}
		}
	}
}

func BenchmarkTable(b *testing.B) {
	for b.Loop() {
		list, err := readEntries()
		if err != nil {
			b.Fatal(err)
		}
		indexEntries(list)
	}
}
