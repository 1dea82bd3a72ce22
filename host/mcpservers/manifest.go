package mcpservers

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// maxClientName is the maximum length of a tool's name in MCP clients, including the server's name.
const maxClientName = 64

// minToolName is how many characters a server's name must leave for tool names: a letter and a hash.
const minToolName = 10

// notInNames matches characters that are not allowed in tool names.
var notInNames = lazyregexp.New(`[^a-z0-9_]+`)

// normalizeToolName returns picoclaw's name for a server's tool, in a-z, 0-9 and "_"; empty if that name is in taken.
func normalizeToolName(id, name string, taken map[string]acceptedToolDefinition) string {
	var spaced strings.Builder // printEnv becomes print_env
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
	room := maxClientName - len(id) - 1
	if _, ambiguous := taken[short]; ambiguous || len(short) > room {
		hash := "_" + shortHash([]byte(name))
		short = short[:min(len(short), max(1, room-len(hash)))] + hash
		if _, ambiguous := taken[short]; ambiguous {
			return ""
		}
	}
	return short
}

// builtManifest collects the manifest of a new package.
type builtManifest struct {
	manifest *pluginpb.Manifest
	tools    map[string]acceptedToolDefinition
	leftOut  []string // tools that are not offered, with reasons
	claims   map[string]string
}

// buildManifest converts a server's description of itself to a manifest.
func buildManifest(id string, s *ServerSpec, info *ServerInfo, programs []string, known map[string]string) (*builtManifest, error) {
	if maxID := maxClientName - 1 - minToolName; len(id) > maxID {
		return nil, fmt.Errorf("the name %s is too long for tool names; use at most %d characters", id, maxID)
	}
	b := &builtManifest{tools: map[string]acceptedToolDefinition{}, claims: map[string]string{}}
	doc := cmp.Or(info.Title, info.Name)
	b.manifest = &pluginpb.Manifest{
		ID: id, Doc: fmt.Sprintf("The MCP server %s: %s", shortenLine(doc), s.SourceForDisplay()), FullNames: true,
		Protocol: pluginpb.CurrentProtocol(),
		Grants:   s.buildGrants(programs),
	}
	unused := maps.Clone(s.Claims)
	for _, name := range slices.Sorted(maps.Keys(info.Tools)) {
		tool := info.Tools[name]
		if tool.Kind != pluginpb.ToolKind {
			if err := b.addResourceOrPrompt(id, name, &tool); err != nil {
				b.leftOut = append(b.leftOut, fmt.Sprintf("%s: %v", shortenLine(name), err))
			}
			continue
		}
		spec, err := b.convertTool(id, s, &tool.Tool, known, unused)
		if err != nil {
			b.leftOut = append(b.leftOut, fmt.Sprintf("%s: %v", shortenLine(name), err))
			continue
		}
		b.tools[spec.Name] = acceptedToolDefinition{Name: name, Hash: tool.Hash}
		b.manifest.Tools = append(b.manifest.Tools, *spec)
	}
	for at := range unused {
		return nil, fmt.Errorf("the claim for %s: the server has no such tool, or no such string field", at)
	}
	if len(b.manifest.AllSpecs()) == 0 {
		return nil, fmt.Errorf("the server has no tools that could be offered: %s", strings.Join(b.leftOut, "; "))
	}
	return b, nil
}

// convertTool converts a server's tool description to the manifest's.
func (b *builtManifest) convertTool(id string, s *ServerSpec, d *ToolDescription, known, unused map[string]string) (*pluginpb.ToolSpec, error) {
	out := &pluginpb.ToolSpec{
		Name: normalizeToolName(id, d.Name, b.tools), Doc: strings.TrimSpace(d.Description), ReadOnly: d.Annotations.ReadOnly,
		Destructive: d.Annotations.Destructive != nil && *d.Annotations.Destructive, Idempotent: d.Annotations.Idempotent,
		OpenWorld: d.Annotations.OpenWorld != nil && *d.Annotations.OpenWorld,
	}
	switch {
	case strings.TrimSpace(d.Name) == "":
		return nil, errors.New("it has no name")
	case out.Name == "":
		return nil, errors.New("its name is too similar to another tool's")
	case out.Doc == "":
		out.Doc = d.Name
	}
	input := d.Input
	if input == nil {
		input = map[string]any{}
	}
	removeUntrustedKeys(input)
	mergeTypeAlternatives(input)
	input["type"] = "object"
	if _, says := input["additionalProperties"]; !says {
		input["additionalProperties"] = false
	}
	claims := proposeClaims(s, d, out.Name, known)
	for _, field := range slices.Sorted(maps.Keys(claims)) {
		if claims[field] != noClaim && !setSchemaClaim(input, strings.Split(field, "."), claims[field]) {
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
	if out.Input, err = schemaFromMap(input); err != nil {
		return nil, err
	}
	if d.Output != nil {
		removeUntrustedKeys(d.Output)
		if out.Output, err = schemaFromMap(d.Output); err != nil {
			return nil, err
		}
	}
	if err := out.CheckSchemas(); err != nil {
		return nil, err
	}
	return out, nil
}

// schemaFromMap converts a JSON schema that was decoded to a map.
func schemaFromMap(value map[string]any) (*pluginpb.Schema, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	s := new(pluginpb.Schema)
	return s, s.UnmarshalJSON(text)
}

// removeUntrustedKeys removes claims from a schema, which a server must not set, and $schema, since the schema library
// assumes the newest draft.
func removeUntrustedKeys(v any) {
	visitObjects(v, func(object map[string]any) {
		delete(object, pluginpb.ClaimKey)
		if _, text := object["$schema"].(string); text {
			delete(object, "$schema")
		}
	})
}

// visitObjects calls visit for each object in a JSON value, the outer ones first.
func visitObjects(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		visit(v)
		for _, below := range v {
			visitObjects(below, visit)
		}
	case []any:
		for _, below := range v {
			visitObjects(below, visit)
		}
	}
}

// mergeTypeAlternatives rewrites alternatives in a schema that differ only in type as one schema with several types. So
// an optional string is guarded like a string.
func mergeTypeAlternatives(v any) {
	visitObjects(v, func(object map[string]any) {
		if one := schemaOfAlternatives(object); one != nil {
			delete(object, "anyOf")
			maps.Copy(object, one)
		}
	})
}

// schemaOfAlternatives returns one schema for the alternatives in a schema. It returns nil if two of them have
// keywords besides the type.
func schemaOfAlternatives(s map[string]any) map[string]any {
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

// shortenLine shortens an untrusted text to one line.
func shortenLine(text string) string {
	const maxRunes = 120
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxRunes {
		return string(runes[:maxRunes]) + "…"
	}
	return text
}

// CurrentToolsFile is a file in the plugin's state directory with the server's tools while some are quarantined.
const CurrentToolsFile = "seen.json"

// RebuildManifest builds the manifest of a server's current tools, for comparison with the accepted manifest.
func RebuildManifest(old *pluginpb.Manifest, s *ServerSpec, fetched string, seen []byte) (*pluginpb.Manifest, error) {
	info := &ServerInfo{}
	if err := json.Unmarshal(seen, &info.Tools); err != nil {
		return nil, fmt.Errorf("the server's current tools: %w", err)
	}
	name, _, _ := strings.Cut(fetched, " ")
	known, err := lookupKnownServer(name)
	if err != nil {
		return nil, err
	}
	b, err := buildManifest(old.ID, s, info, nil, known.Claims)
	if err != nil {
		return nil, err
	}
	b.manifest.Grants, b.manifest.Doc, b.manifest.Version = old.Grants, old.Doc, "now"
	return b.manifest, nil
}

// addResourceOrPrompt adds a server's resource or prompt to the manifest. Its arguments have no claims, since the host guards
// the paths of file: URIs.
func (b *builtManifest) addResourceOrPrompt(id, name string, listed *ListedTool) error {
	d := &listed.Tool
	if strings.TrimSpace(d.Name) == "" {
		return errors.New("it has no name")
	}
	taken := map[string]acceptedToolDefinition{}
	for known, tool := range b.tools {
		if short, ok := strings.CutPrefix(known, pluginpb.CallNamePrefix(listed.Kind)); ok {
			taken[short] = tool
		}
	}
	spec := pluginpb.ToolSpec{Name: normalizeToolName(id, d.Name, taken), Doc: cmp.Or(strings.TrimSpace(d.Description), d.Name), ReadOnly: true}
	if spec.Name == "" {
		return errors.New("its name is too similar to another's")
	}
	properties, required := map[string]any{}, []string{}
	if listed.Kind == pluginpb.ResourceKind {
		spec.URI, spec.MediaType = cmp.Or(d.URI, d.URITemplate), d.MediaType
		template, err := pluginpb.ParseURITemplate(spec.URI)
		if err != nil {
			return err
		}
		required = append(required, template.Names()...)
	}
	for _, a := range d.Arguments {
		properties[a.Name] = map[string]any{"type": "string", "description": a.Description}
		if a.Required {
			required = append(required, a.Name)
		}
	}
	for _, variable := range required {
		if properties[variable] == nil {
			properties[variable] = map[string]any{"type": "string"}
		}
	}
	var err error
	if spec.Input, err = schemaFromMap(map[string]any{"type": "object", "properties": properties, "required": required,
		"additionalProperties": false}); err != nil {
		return err
	}
	if err = spec.CheckSchemas(); err != nil {
		return err
	}
	b.tools[pluginpb.CallNamePrefix(listed.Kind)+spec.Name] = acceptedToolDefinition{Name: name, Hash: listed.Hash}
	if listed.Kind == pluginpb.ResourceKind {
		b.manifest.Resources = append(b.manifest.Resources, spec)
		return nil
	}
	if listed.Kind != pluginpb.PromptKind {
		return fmt.Errorf("there is no kind %q", listed.Kind)
	}
	b.manifest.Prompts = append(b.manifest.Prompts, spec)
	return nil
}
