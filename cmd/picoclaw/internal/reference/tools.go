package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

const toolsIntro = `# Tools

An agent has the tools of one set, ` + "`tools.set`" + ` (picoclaw, module or all), filtered by ` + "`tools.enabled`" + `,
` + "`tools.disabled`" + ` and ` + "`modules`" + `. ` + "`picoclaw tools --agent ID`" + ` lists an agent's tools with permissions and side effects.
[filesystem.md](filesystem.md) and [shell.md](shell.md) describe the tools.

Parentheses contain type, default and claim of an argument. Without a type, the type is the default's, or string. Null
means an absent optional argument. A string is converted to the one type that the schema allows, such as "5" to 5; the
result says so.
`

// toolsPage returns the documentation page about tools.
func toolsPage(tools []session.Tool) (string, error) {
	var b strings.Builder
	b.WriteString(generatedNotice + toolsIntro)
	plugin := ""
	for _, t := range tools {
		if t.Plugin != plugin {
			plugin = t.Plugin
			fmt.Fprintf(&b, "\n## %s\n", plugin)
		}
		if err := writeTool(&b, t.Spec); err != nil {
			return "", fmt.Errorf("tool %s: %w", t.Name, err)
		}
	}
	return b.String(), nil
}

// writeTool writes the section of a tool: description, facts and arguments.
func writeTool(b *strings.Builder, spec *pluginpb.ToolSpec) error {
	fmt.Fprintf(b, "\n### %s\n\n%s\n\n", spec.Name, wrapParagraphs(spec.Doc))
	var facts []string
	add := func(name string, values ...string) {
		if text := strings.Join(values, ", "); text != "" {
			facts = append(facts, name+": "+text)
		}
	}
	if len(spec.Sets) == 1 {
		add("Set", spec.Sets...)
	}
	add("Risk", spec.Risk)
	for _, hint := range []struct {
		is   bool
		name string
	}{{spec.ReadOnly, "read-only"}, {spec.Destructive, "destructive"},
		{spec.Idempotent && !spec.ReadOnly, "idempotent"}, {spec.OpenWorld, "open world"}} {
		if hint.is {
			facts = append(facts, hint.name)
		}
	}
	if len(facts) > 0 {
		b.WriteString(wrapText(strings.Join(facts, "; ")+".", "") + "\n\n")
	}
	input, err := spec.Input.Parse()
	if err != nil {
		return err
	}
	if len(input.Properties) == 0 {
		b.WriteString("No arguments.\n")
		return nil
	}
	writeArguments(b, input, "", nil)
	return nil
}

// writeArguments writes a list item for each argument, required ones first, including the fields of objects. A field
// refers to the argument of the same name in outer if both descriptions begin alike.
func writeArguments(b *strings.Builder, s *jsonschema.Schema, in string, outer map[string]*jsonschema.Schema) {
	names := slices.Sorted(maps.Keys(s.Properties))
	slices.SortStableFunc(names, func(x, y string) int { return requiredRank(s, y) - requiredRank(s, x) })
	for _, name := range names {
		p := s.Properties[name]
		var facts []string
		if text := describeArgumentType(p); text != "string" && (text != "boolean" || p.Default == nil) {
			facts = append(facts, text)
		}
		if requiredRank(s, name) > 0 {
			facts = append(facts, "required")
		}
		if p.Default != nil {
			facts = append(facts, formatCode(string(p.Default)))
		}
		if claim, _ := p.Extra[pluginpb.ClaimKey].(string); claim != "" {
			facts = append(facts, "claim: "+claim)
		}
		doc := p.Description
		if same := outer[name]; same != nil && haveSameFirstWords(doc, same.Description) {
			doc = "as " + formatCode(name) + "."
		}
		b.WriteString(formatListItem(formatCode(in+name), strings.Join(facts, "; "), doc))
		if p.Items != nil && len(p.Items.Properties) > 0 {
			writeArguments(b, p.Items, in+name+"[].", s.Properties)
		}
	}
}

// haveSameFirstWords reports whether two texts have the same first two words.
func haveSameFirstWords(x, y string) bool {
	a, b := strings.Fields(x), strings.Fields(y)
	return len(a) > 1 && len(b) > 1 && a[0] == b[0] && a[1] == b[1]
}

// requiredRank returns 1 for a required argument, otherwise 0.
func requiredRank(s *jsonschema.Schema, name string) int {
	if slices.Contains(s.Required, name) {
		return 1
	}
	return 0
}

// describeArgumentType returns the type, values and bounds of an argument in words.
func describeArgumentType(s *jsonschema.Schema) string {
	types := slices.DeleteFunc(append(slices.Clone(s.Types), s.Type),
		func(t string) bool { return t == "" || t == "null" })
	text := strings.Join(types, " or ")
	if s.Items != nil && s.Items.Type != "" {
		text += " of " + s.Items.Type + "s"
	}
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			if one, err := json.Marshal(v); err == nil {
				values = append(values, strings.Trim(string(one), `"`))
			}
		}
		text = strings.Join(values, "|")
	}
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		text += fmt.Sprintf(", %v to %v", *s.Minimum, *s.Maximum)
	case s.Minimum != nil:
		text += fmt.Sprintf(", at least %v", *s.Minimum)
	}
	return text
}
