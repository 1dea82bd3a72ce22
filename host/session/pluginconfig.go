package session

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/picoclaw/picoclaw/internal/suggest"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// CheckPluginConfig checks the operator's settings for an installed plugin against its schema. The error does not name
// plugins.<id>.config.
func (h *Host) CheckPluginConfig(id string) error {
	set := h.config.Plugin(id).Config
	if len(set) == 0 {
		return nil
	}
	settings, err := json.Marshal(set)
	if err != nil {
		return err
	}
	for _, p := range h.PluginCatalog().Plugins() {
		if p.Manifest.ID == id {
			return checkSettingsAgainstSchema(p.Manifest, settings)
		}
	}
	return nil
}

func checkSettingsAgainstSchema(m *pluginpb.Manifest, settings json.RawMessage) error {
	if len(settings) == 0 {
		return nil
	}
	if m.Config == nil {
		return rejectAnySettings(settings)
	}
	schema, err := m.Config.Parse()
	if err != nil {
		return fmt.Errorf("the schema can't be read: %w", err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return fmt.Errorf("the schema is not usable: %w", err)
	}
	var value any
	if err = json.Unmarshal(settings, &value); err != nil {
		return err
	}
	err = resolved.Validate(value)
	if err == nil {
		return nil
	}
	if unknown := checkUnknownKey(schema, value, ""); unknown != nil {
		return unknown
	}
	return err
}

// rejectAnySettings returns an error if there are settings, for a plugin without a config schema.
func rejectAnySettings(settings json.RawMessage) error {
	var set map[string]json.RawMessage
	if err := json.Unmarshal(settings, &set); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		return fmt.Errorf("unknown key %q; the plugin has no settings", name)
	}
	return nil
}

// checkUnknownKey returns an error, with a similar key, for a key that a closed schema does not have.
func checkUnknownKey(schema *jsonschema.Schema, value any, at string) error {
	object, ok := value.(map[string]any)
	if !ok || len(schema.Properties) == 0 {
		return nil
	}
	known := slices.Sorted(maps.Keys(schema.Properties))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if inner := schema.Properties[name]; inner != nil {
			if err := checkUnknownKey(inner, object[name], at+name+"."); err != nil {
				return err
			}
			continue
		}
		if schema.AdditionalProperties != nil {
			return fmt.Errorf("unknown key %q; the nearest is %q", at+name, at+suggest.Nearest(name, known))
		}
	}
	return nil
}
