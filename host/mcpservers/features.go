package mcpservers

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// addResourceOrPrompt adds a server's resource or prompt to the manifest. Its arguments have no claims, since the host guards
// the paths of file: URIs.
func (b *builtManifest) addResourceOrPrompt(id, name string, listed *ListedTool) error {
	d := &listed.Tool
	if strings.TrimSpace(d.Name) == "" {
		return errors.New("it has no name")
	}
	taken := map[string]acceptedDefinition{}
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
	if spec.Input, err = parseSchema(map[string]any{"type": "object", "properties": properties, "required": required,
		"additionalProperties": false}); err != nil {
		return err
	}
	if err = spec.CheckSchemas(); err != nil {
		return err
	}
	b.tools[pluginpb.CallNamePrefix(listed.Kind)+spec.Name] = acceptedDefinition{Name: name, Hash: listed.Hash}
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
