package mcpservers

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// mostClientName is how long a tool's name may be to MCP clients, with the server's in front.
const mostClientName = 64

// leastToolName is the room that a server's own name has to leave in that for a tool's: a letter and a hash.
const leastToolName = 10

var notInNames = lazyregexp.New(`[^a-z0-9_]+`)

// toolName is what a server's tool is called here: lower-case letters, digits and "_". taken are the names that are
// others' already; where nothing else is left, as one tool has what would be another's, the name is empty.
func toolName(id, name string, taken map[string]pinned) string {
	var spaced strings.Builder // printEnv is print_env
	for i, r := range name {
		if r >= 'A' && r <= 'Z' && i > 0 && name[i-1] >= 'a' && name[i-1] <= 'z' {
			spaced.WriteByte('_')
		}
		spaced.WriteRune(r)
	}
	short := strings.Trim(notInNames().ReplaceAllString(strings.ToLower(spaced.String()), "_"), "_")
	if short == "" || short[0] < 'a' || short[0] > 'z' {
		short = "t_" + short
	}
	room := mostClientName - len(id) - 1
	if _, ambiguous := taken[short]; ambiguous || len(short) > room {
		hash := "_" + shortHash([]byte(name))
		short = short[:min(len(short), max(1, room-len(hash)))] + hash
		if _, ambiguous := taken[short]; ambiguous {
			return ""
		}
	}
	return short
}

// built is a package that is not yet in the store.
type built struct {
	manifest *pluginpb.Manifest
	tools    map[string]pinned
	leftOut  []string // what is not offered, and why
	claims   map[string]string
}

// build makes a manifest of what a server has said. version is that of what was fetched.
func build(id string, s *Spec, said *Said, programs []string, known map[string]string) (*built, error) {
	if most := mostClientName - 1 - leastToolName; len(id) > most {
		return nil, fmt.Errorf("the name %s is too long for tools to be called by it; at most %d characters are not", id, most)
	}
	b := &built{tools: map[string]pinned{}, claims: map[string]string{}}
	doc := said.Title
	if doc == "" {
		doc = said.Name
	}
	b.manifest = &pluginpb.Manifest{
		ID: id, Doc: fmt.Sprintf("The MCP server %s: %s", oneLine(doc), s.Source()), FullNames: true,
		Protocol: pluginpb.CurrentProtocol(),
		Grants:   s.grants(programs),
	}
	unused := maps.Clone(s.Claims)
	for _, name := range slices.Sorted(maps.Keys(said.Tools)) {
		tool := said.Tools[name]
		spec, err := b.spec(id, s, &tool.Tool, known, unused)
		if err != nil {
			b.leftOut = append(b.leftOut, fmt.Sprintf("%s: %v", oneLine(name), err))
			continue
		}
		b.tools[spec.Name] = pinned{Name: name, Hash: tool.Hash}
		b.manifest.Tools = append(b.manifest.Tools, *spec)
	}
	for at := range unused {
		return nil, fmt.Errorf("the claim for %s: the server has no such tool or field that takes a text", at)
	}
	if len(b.manifest.Tools) == 0 {
		return nil, fmt.Errorf("the server has no tools that could be offered: %s", strings.Join(b.leftOut, "; "))
	}
	return b, nil
}

// spec makes a tool's specification of its description.
func (b *built) spec(id string, s *Spec, d *Description, known, unused map[string]string) (*pluginpb.Spec, error) {
	out := &pluginpb.Spec{
		Name: toolName(id, d.Name, b.tools), Doc: strings.TrimSpace(d.Description), ReadOnly: d.Annotations.ReadOnly,
		Destructive: d.Annotations.Destructive != nil && *d.Annotations.Destructive, Idempotent: d.Annotations.Idempotent,
		OpenWorld: d.Annotations.OpenWorld != nil && *d.Annotations.OpenWorld,
	}
	switch {
	case strings.TrimSpace(d.Name) == "":
		return nil, errors.New("it has no name")
	case out.Name == "":
		return nil, errors.New("its name can't be told from another's")
	case out.Doc == "":
		out.Doc = d.Name
	}
	input := d.Input
	if input == nil {
		input = map[string]any{}
	}
	strip(input)
	join(input)
	input["type"] = "object"
	if _, says := input["additionalProperties"]; !says {
		input["additionalProperties"] = false
	}
	claims := propose(s, d, known)
	for at, claim := range s.Claims {
		if tool, field, _ := strings.Cut(at, "."); tool == d.Name || tool == out.Name {
			claims[field] = claim
		}
	}
	for _, field := range slices.Sorted(maps.Keys(claims)) {
		if claims[field] != noClaim && !mark(input, strings.Split(field, "."), claims[field]) {
			continue
		}
		for _, tool := range []string{d.Name, out.Name} {
			delete(unused, tool+"."+field)
		}
		if claims[field] != noClaim {
			b.claims[out.Name+"."+field] = claims[field]
		}
	}
	var err error
	if out.Input, err = schema(input); err != nil {
		return nil, err
	}
	if d.Output != nil {
		strip(d.Output)
		if out.Output, err = schema(d.Output); err != nil {
			return nil, err
		}
	}
	if err := out.CheckSchemas(); err != nil {
		return nil, err
	}
	return out, nil
}

func schema(value map[string]any) (*pluginpb.Schema, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	s := new(pluginpb.Schema)
	return s, s.UnmarshalJSON(text)
}

// strip takes out of a schema what is not a server's to say, and the name of the draft, which the library wants to be
// the newest.
func strip(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, pluginpb.ClaimKey)
		if _, text := v["$schema"].(string); text {
			delete(v, "$schema")
		}
		for _, below := range v {
			strip(below)
		}
	case []any:
		for _, below := range v {
			strip(below)
		}
	}
}

// join writes alternatives that differ in their types as one schema with several types: an optional text is a text, to
// be guarded as one.
func join(v any) {
	switch v := v.(type) {
	case map[string]any:
		if one := joined(v); one != nil {
			delete(v, "anyOf")
			for name, value := range one {
				v[name] = value
			}
		}
		for _, below := range v {
			join(below)
		}
	case []any:
		for _, below := range v {
			join(below)
		}
	}
}

// joined is what stands in the place of a schema's alternatives, if all but one of them have a type and nothing else.
func joined(s map[string]any) map[string]any {
	alternatives, _ := s["anyOf"].([]any)
	if _, typed := s["type"]; typed || len(alternatives) < 2 {
		return nil
	}
	var types []any
	out := map[string]any{}
	for _, a := range alternatives {
		one, _ := a.(map[string]any)
		name, ok := one["type"].(string)
		if !ok || slices.Contains(types, any(name)) {
			return nil
		}
		types = append(types, name)
		if len(one) == 1 {
			continue
		}
		if len(out) > 0 {
			return nil
		}
		for key, value := range one {
			if _, twice := s[key]; twice || key == "enum" || key == "const" {
				return nil // which would hold for the other types too
			}
			out[key] = value
		}
	}
	out["type"] = types
	return out
}

// oneLine is a stranger's text on one line of moderate length.
func oneLine(text string) string {
	const most = 120
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// SeenFile is where the plugin notes what its server offers in place of what was accepted, in its state directory.
const SeenFile = "seen.json"

// Again makes the manifest that a server would have which says what seen holds, for comparison with the one that was
// accepted.
func Again(old *pluginpb.Manifest, s *Spec, fetched string, seen []byte) (*pluginpb.Manifest, error) {
	said := &Said{}
	if err := json.Unmarshal(seen, &said.Tools); err != nil {
		return nil, fmt.Errorf("what the server was seen to offer: %w", err)
	}
	name, _, _ := strings.Cut(fetched, " ")
	known, err := knownOf(name)
	if err != nil {
		return nil, err
	}
	b, err := build(old.ID, s, said, nil, known.Claims)
	if err != nil {
		return nil, err
	}
	b.manifest.Grants, b.manifest.Doc, b.manifest.Version = old.Grants, old.Doc, "now"
	return b.manifest, nil
}
