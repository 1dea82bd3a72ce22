package mcpservers

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// noClaim marks an argument that the guard does not check.
const noClaim = "none"

// knownServerSettings is picoclaw's built-in information about a server, by package name.
type knownServerSettings struct {
	Claims map[string]string `json:"claims"`
	Env    map[string]string `json:"env"`
}

//go:embed known.json
var knownText []byte

// lookupKnownServer returns the built-in information about a package.
func lookupKnownServer(name string) (knownServerSettings, error) {
	all := map[string]knownServerSettings{}
	err := json.Unmarshal(knownText, &all)
	return all[name], err
}

// proposeClaims returns the claims (such as path or URL) for a tool's arguments. It uses the operator's claims, known
// claims, or guesses by the arguments' names. Without a workspace there are no paths to guard. name is picoclaw's name
// of the tool.
func proposeClaims(s *ServerSpec, d *ToolDescription, name string, known map[string]string) map[string]string {
	out := map[string]string{}
	for _, at := range schemaFieldPaths(d.Input, "", 0) {
		claim := claimFromName(d, at[strings.LastIndex(at, ".")+1:])
		if claim == string(pluginpb.ClaimCommand) || claim != "" && (s.Workspace == "ro" || s.Workspace == "rw") {
			out[at] = claim
		}
	}
	for at, claim := range known {
		if tool, field, _ := strings.Cut(at, "."); tool == d.Name {
			out[field] = claim
		}
	}
	for at, claim := range s.Claims {
		if tool, field, _ := strings.Cut(at, "."); tool == d.Name || tool == name {
			out[field] = claim
		}
	}
	return out
}

// schemaFieldPaths returns the paths of all properties in an object's schema, such as "edits.*.path".
func schemaFieldPaths(s map[string]any, under string, depth int) (all []string) {
	properties, _ := s["properties"].(map[string]any)
	for name, v := range properties {
		if strings.Contains(name, ".") || depth > 4 {
			continue
		}
		all = append(all, under+name)
		field, _ := v.(map[string]any)
		all = append(all, schemaFieldPaths(field, under+name+".", depth+1)...)
		if items, ok := field["items"].(map[string]any); ok {
			all = append(all, schemaFieldPaths(items, under+name+".*.", depth+1)...)
		}
	}
	return all
}

// claimFromName returns the claim that a field's name suggests; "" for none.
func claimFromName(d *ToolDescription, field string) string {
	word := strings.ToLower(field)
	if i := strings.LastIndexAny(word, "_-"); i >= 0 {
		word = word[i+1:]
	}
	for _, suffix := range []string{"path", "paths", "file", "files", "filename", "dir", "directory", "folder"} {
		if strings.HasSuffix(word, suffix) {
			word = suffix
			break
		}
	}
	tool := strings.ToLower(d.Name)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(tool, w) })
	}
	switch word {
	case "command", "cmd", "commandline":
		return "command"
	case "source", "src":
		switch {
		case has("move", "rename"):
			return "delete"
		case has("copy"):
			return "read"
		}
		return ""
	case "destination", "dest", "dst":
		if has("move", "rename", "copy") {
			return "write"
		}
		return ""
	case "path", "paths", "file", "files", "filename", "dir", "directory", "folder", "cwd":
	default:
		return ""
	}
	switch {
	case has("delete", "remove", "unlink"):
		return "delete"
	case has("list", "search", "tree", "find", "glob", "grep"):
		return "list"
	case d.Annotations.ReadOnly || has("read", "get", "show", "view", "info", "stat", "open"):
		return "read"
	}
	return "write"
}

// setSchemaClaim sets the claim of a field, or of a list's elements, and reports whether the field exists and takes
// strings.
func setSchemaClaim(s map[string]any, at []string, claim string) bool {
	properties, _ := s["properties"].(map[string]any)
	field, _ := properties[at[0]].(map[string]any)
	if at[0] == "*" {
		field, _ = s["items"].(map[string]any)
	}
	if field == nil {
		return false
	}
	if len(at) > 1 {
		return setSchemaClaim(field, at[1:], claim)
	}
	want := "string"
	if claim == string(pluginpb.ClaimEnv) {
		want = "object"
	}
	marked := false
	items, _ := field["items"].(map[string]any)
	for _, schema := range []map[string]any{field, items} { // both may take a string
		types, _ := schema["type"].([]any)
		if schema["type"] == want || slices.Contains(types, any(want)) {
			schema[pluginpb.ClaimKey], marked = claim, true
		}
	}
	return marked
}
