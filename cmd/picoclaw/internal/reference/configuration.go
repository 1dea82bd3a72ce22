package reference

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/picoclaw/picoclaw/host/config"
)

const configurationIntro = `# Configuration

The configuration is ` + "`config.json`" + ` (JSON with comments and trailing commas) or ` + "`config.yaml`" + ` in the home,
` + "`PICOCLAW_HOME`" + ` or ` + "`~/.picoclaw`" + `; ` + "`--config`" + ` and ` + "`PICOCLAW_CONFIG`" + ` name another file. Environment variables override
the file, flags override both. A key's variable is ` + "`PICOCLAW_`" + ` and the key in capitals with ` + "`_`" + ` for dots: ` + "`log.level`" + `
is ` + "`PICOCLAW_LOG_LEVEL`" + `; lists are separated by commas or JSON, objects are JSON.

- ` + "`picoclaw init`" + ` writes a commented file.
- ` + "`picoclaw config check`" + ` reports every mistake with its line and remedy. Nothing starts with a mistake in the file.
- ` + "`picoclaw config show`" + ` shows each value and its source.
- ` + "`picoclaw config schema`" + ` prints a JSON Schema with all bounds, for editors.

Each key shows its type and default. Keys with ● can also be set for one agent, in its entry of ` + "`agents.agents`" + `
without ` + "`agents.defaults.`" + `; the agent's value replaces the common one. Sizes are bytes or have a unit: KB (1024
bytes), MB, GB, TB.
`

// sections are the parts of the page, each with what its keys begin with.
var sections = []struct{ title, prefix string }{
	{"Agents: defaults", "agents.defaults."},
	{"Agents: single agents", "agents.agents"},
	{"Tools", "tools."},
	{"Isolation", "isolation."},
	{"Audit", "audit."},
	{"Logs", "log."},
	{"Plugins", "plugins"},
	{"Signatures on plugins", "signatures."},
	{"Other", ""}, // all other keys
}

// sectionOf returns the first section that a key belongs to.
func sectionOf(key string) string {
	for _, s := range sections {
		if strings.HasPrefix(key, s.prefix) {
			return s.title
		}
	}
	return ""
}

// Configuration returns the page about the configuration's keys.
func Configuration(keys []config.Key) string {
	own := map[string]bool{} // the agents' own versions of keys
	for _, key := range keys {
		if key.PerAgent {
			own["agents.agents[]."+key.AgentName()] = true
		}
	}
	var b strings.Builder
	b.WriteString(notice + configurationIntro)
	for _, section := range sections {
		fmt.Fprintf(&b, "\n## %s\n\n", section.title)
		for _, key := range keys {
			if sectionOf(key.Name) == section.title && !own[key.Name] {
				writeKey(&b, key)
			}
		}
	}
	return b.String()
}

func writeKey(b *strings.Builder, key config.Key) {
	name := code(key.Name)
	if key.PerAgent {
		name += " ●"
	}
	if key.Alias != "" {
		name += ", or " + code(key.Alias)
	}
	facts := typeOf(key)
	if key.Required {
		facts += "; required"
	}
	if standard := valueOf(key.Default); standard != "" {
		facts += "; " + standard
	}
	b.WriteString(entry(name, facts, key.Doc))
}

func typeOf(key config.Key) string {
	switch {
	case len(key.Values) > 0:
		one := strings.Join(key.Values, ", ")
		if key.Type == config.StringsType {
			return "list of " + one
		}
		return "one of " + one
	case key.Format == config.PathFormat || key.Format == config.AbsoluteFormat:
		return "path"
	case key.Format == config.RegexpFormat:
		return "list of regular expressions"
	}
	return string(key.Type)
}

func valueOf(value any) string {
	if value == nil {
		return ""
	}
	text, err := json.Marshal(value)
	if err != nil || string(text) == "[]" {
		return ""
	}
	return code(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(text)))
}
