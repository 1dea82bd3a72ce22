package mcpservers

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// noClaim says that a field is not to be guarded, whatever its name.
const noClaim = "none"

// wellKnown is what is known of servers, by the names of their packages.
type wellKnown struct {
	Claims map[string]string `json:"claims"`
	Env    map[string]string `json:"env"`
}

//go:embed known.json
var knownText []byte

// knownOf returns what is known of a package.
func knownOf(name string) (wellKnown, error) {
	all := map[string]wellKnown{}
	err := json.Unmarshal(knownText, &all)
	return all[name], err
}

// propose says how a tool's fields are to be guarded: as is known of the server, else as their names suggest. Without a
// workspace there are no paths to guard.
func propose(s *Spec, d *Description, known map[string]string) map[string]string {
	out := map[string]string{}
	for _, at := range fields(d.Input, "", 0) {
		claim := suggested(d, at[strings.LastIndex(at, ".")+1:])
		if claim == string(pluginpb.ClaimCommand) || claim != "" && (s.Workspace == "ro" || s.Workspace == "rw") {
			out[at] = claim
		}
	}
	for at, claim := range known {
		if tool, field, _ := strings.Cut(at, "."); tool == d.Name {
			out[field] = claim
		}
	}
	return out
}

// fields are the names of an object's properties, and of those below, such as "edits.*.path".
func fields(s map[string]any, under string, depth int) (all []string) {
	properties, _ := s["properties"].(map[string]any)
	for name, v := range properties {
		if strings.Contains(name, ".") || depth > 4 {
			continue
		}
		all = append(all, under+name)
		field, _ := v.(map[string]any)
		all = append(all, fields(field, under+name+".", depth+1)...)
		if items, ok := field["items"].(map[string]any); ok {
			all = append(all, fields(items, under+name+".*.", depth+1)...)
		}
	}
	return all
}

// suggested is the claim that the name of a field suggests; "" for none.
func suggested(d *Description, field string) string {
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

// mark puts a claim on a field, or on the elements of a list. It reports whether the field is there and takes a text.
func mark(s map[string]any, at []string, claim string) bool {
	properties, _ := s["properties"].(map[string]any)
	field, _ := properties[at[0]].(map[string]any)
	if at[0] == "*" {
		field, _ = s["items"].(map[string]any)
	}
	if field == nil {
		return false
	}
	if len(at) > 1 {
		return mark(field, at[1:], claim)
	}
	want := "string"
	if claim == string(pluginpb.ClaimEnv) {
		want = "object"
	}
	marked := false
	items, _ := field["items"].(map[string]any)
	for _, place := range []map[string]any{field, items} { // which may both take a text
		types, _ := place["type"].([]any)
		if place["type"] == want || slices.Contains(types, any(want)) {
			place[pluginpb.ClaimKey], marked = claim, true
		}
	}
	return marked
}
