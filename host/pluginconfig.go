package host

import (
	"encoding/json"
	"fmt"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// checkConfig says what is wrong with the operator's settings for a plugin, by the schema in its manifest, before it is
// started with them.
func checkConfig(m *pluginpb.Manifest, settings json.RawMessage) error {
	if m.Config == nil || len(settings) == 0 {
		return nil
	}
	schema, err := m.Config.Parse()
	if err != nil {
		return fmt.Errorf("plugin %s: read the schema of its configuration: %w", m.ID, err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return fmt.Errorf("plugin %s: the schema of its configuration is not usable: %w", m.ID, err)
	}
	var value any
	if err := json.Unmarshal(settings, &value); err != nil {
		return fmt.Errorf("plugins.%s.config: %w", m.ID, err)
	}
	if err := resolved.Validate(value); err != nil {
		return fmt.Errorf("plugins.%s.config does not fit the plugin's schema: %w", m.ID, err)
	}
	return nil
}
