package config

import (
	"slices"
	"strings"
	"sync"
)

// Type is what kind of value a key takes.
type Type string

// The types of values.
const (
	String  Type = "string"
	Bool    Type = "boolean"
	Int     Type = "integer"
	Number  Type = "number" // not below 0
	Size    Type = "size"   // a whole number of bytes, or a string such as "50MB"
	Strings Type = "list of strings"
	Objects Type = "list of objects" // the keys of one are in the table under "name[]"
	Map     Type = "objects by id"   // the keys of one are in the table under "name.<id>"
	Free    Type = "free object"     // any keys; not checked here
	Lists   Type = "lists by name"   // an object of lists of strings
	Texts   Type = "texts by name"   // an object of strings
	Rules   Type = "list of rules"   // rules for commands, for [guard.ParseRules]
)

// Key is a row of the table of known keys.
type Key struct {
	// Name is the full name. "[]" stands for an element of a list, "<id>" for an id that the operator chose.
	Name string

	// Alias is another last part for Name that means the same; empty when there is none.
	Alias string

	Type   Type
	Format Format   // a further condition on the string, or on each string of the list
	Values []string // when not empty, the only strings allowed
	Min    int64    // the smallest and the largest integer or size allowed; both 0 for no bounds
	Max    int64

	// Default is the built-in value: string, bool, int64, float64, []string or []map[string]any; nil when there is none.
	Default any

	// Required says that the object which may hold the key must hold it.
	Required bool

	// Unique says that no two objects of the list that holds them may have the same value.
	Unique bool

	// PerAgent says that one agent can set the key for itself.
	PerAgent bool

	// Doc says in a sentence or two what the key does.
	Doc string
}

// AgentName returns the name under which an agent sets the key for itself, such as "tools.set" or "workspace";
// empty when it can't.
func (k Key) AgentName() string {
	if !k.PerAgent {
		return ""
	}
	return strings.TrimPrefix(k.Name, defaultsPrefix)
}

// Variable returns the name of the environment variable that sets the key; empty when there is none. The "<id>" of
// a plugin stays in it and stands for the id in capitals.
func (k Key) Variable() string {
	if strings.ContainsAny(k.Name, "[$") || k.Type == Map ||
		strings.HasPrefix(k.Name, "secrets.") || strings.HasPrefix(k.Name, "tools.mcp.") || strings.HasPrefix(k.Name, "hooks.processes.") {
		return ""
	}
	name := strings.ReplaceAll(k.Name, ".", "_")
	return variablePrefix + strings.ReplaceAll(strings.ToUpper(name), "<ID>", "<id>")
}

const (
	defaultsPrefix = "agents.defaults."
	agentsKey      = "agents.agents"
	agentsAlias    = "agents.list"
	agentPrefix    = agentsKey + "[]."
)

// Schema returns the table of all keys, in the order of the documentation. The keys that an agent sets for itself
// are rows of their own, without a default: what is set for all agents is their default.
func Schema() []Key {
	return slices.Clone(schema().rows)
}

// table is the table of keys with a tree over it, to walk beside a document.
type table struct {
	rows []Key
	root *entry
}

// entry is a node of the tree of known keys.
type entry struct {
	name     string // last part of the full name; "[]" and "<id>" for the elements
	full     string
	key      *Key // the row; nil for an object that has none of its own
	children []*entry
}

// schema builds the table once. It never changes after.
var schema = sync.OnceValue(func() *table {
	t := &table{root: &entry{}}
	for _, row := range keys() {
		t.rows = append(t.rows, row)
		if row.Name != agentsKey {
			continue
		}
		for _, own := range keys() {
			if own.PerAgent {
				own.Name, own.Default = agentPrefix+own.AgentName(), nil
				own.PerAgent = false
				t.rows = append(t.rows, own)
			}
		}
	}
	for i := range t.rows {
		t.root.insert(&t.rows[i])
	}
	return t
})

func (e *entry) insert(row *Key) {
	for _, name := range splitName(row.Name) {
		next := e.child(name)
		if next == nil {
			next = &entry{name: name, full: joinName(e.full, name)}
			e.children = append(e.children, next)
		}
		e = next
	}
	e.key = row
}

// child returns the entry of that name below e; nil when there is none. An alias finds its entry too.
func (e *entry) child(name string) *entry {
	for _, c := range e.children {
		if c.name == name || c.key != nil && c.key.Alias != "" && c.key.Alias == name {
			return c
		}
	}
	return nil
}

// typ is the entry's type; empty for an object with known keys.
func (e *entry) typ() Type {
	if e.key == nil {
		return ""
	}
	return e.key.Type
}

// splitName splits a name into its parts: "agents.agents[].id" into "agents", "agents", "[]" and "id".
func splitName(name string) []string {
	return strings.Split(strings.ReplaceAll(name, "[", ".["), ".")
}

// joinName is the inverse of splitName, for one more part.
func joinName(full, part string) string {
	if full == "" || strings.HasPrefix(part, "[") {
		return full + part
	}
	return full + "." + part
}

// ModuleActions returns the actions of the filesystem module.
func ModuleActions() []string {
	for _, row := range keys() {
		if row.Name == "agents.agents[].modules[].actions" {
			return slices.Clone(row.Values)
		}
	}
	return nil
}
