package reference

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/picoclaw/picoclaw/host/config"
)

const configurationIntro = `# Configuration

The configuration is ` + "`config.json`" + ` (JSON with comments and trailing commas) or ` + "`config.yaml`" + ` in the home:
` + "`PICOCLAW_HOME`" + `, or ` + "`~/.picoclaw`" + `. ` + "`--config`" + ` and ` + "`PICOCLAW_CONFIG`" + ` name another file. Above the file stand variables,
above those flags, below it the defaults of this page.

- ` + "`picoclaw init`" + ` writes a commented one.
- ` + "`picoclaw config check`" + ` says everything that is wrong with it, each with its line and the cure. Nothing starts with a
  configuration that has a mistake: an unknown key, a wrong type, a regular expression that does not compile.
- ` + "`picoclaw config show`" + ` says what every key is set to, and where that was said.
- ` + "`picoclaw config schema`" + ` prints the JSON Schema that editors complete keys by.

Behind a key stand its type and its default. Keys marked with ● can be set for one agent too, in its entry of
` + "`agents.agents`" + ` and without ` + "`agents.defaults.`" + ` in front; what an agent sets replaces what is set for all. A size is a
number of bytes, or has KB, MB, GB or TB behind it; 1 KB is 1024 bytes.

A key's variable is ` + "`PICOCLAW_`" + ` and the key in capitals, with ` + "`_`" + ` for each dot: ` + "`log.level`" + ` is ` + "`PICOCLAW_LOG_LEVEL`" + `.
What stands within a list has none. In a variable, a list is separated by commas or written as JSON, an object is JSON.
`

// sections are the parts of the page, each with what its keys begin with.
var sections = []struct{ title, prefix string }{
	{"Agents: what holds for all", "agents.defaults."},
	{"Agents: each one", "agents.agents"},
	{"Tools", "tools."},
	{"Isolation", "isolation."},
	{"Audit", "audit."},
	{"Logs", "log."},
	{"Plugins", "plugins"},
	{"Signatures on plugins", "signatures."},
	{"Other", ""}, // whatever is left
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
		facts += "; needed"
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
		if key.Type == config.Strings {
			return "list of: " + one
		}
		return "one of: " + one
	case key.Min != 0 || key.Max != 0:
		return fmt.Sprintf("integer, %d to %d", key.Min, key.Max)
	case key.Format == config.Path || key.Format == config.Absolute:
		return "path"
	case key.Format == config.Regexp:
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
