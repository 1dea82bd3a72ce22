package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/picoclaw/picoclaw/host/config"
)

const configurationIntro = `# Configuration

The configuration is ` + "`<home>/config.json`" + ` (JSON with comments and trailing commas) or ` + "`<home>/config.yaml`" + `. ` + "`--config`" + `
or ` + "`PICOCLAW_CONFIG`" + ` names another file. Environment variables override the file, and flags override variables. Most
keys have a variable, such as ` + "`PICOCLAW_LOG_LEVEL`" + ` for ` + "`log.level`" + `. In variables, lists are JSON or separated by commas,
and objects are JSON.

A project can set some keys to narrow the policy of ` + "`picoclaw run`" + ` (run.md).

picoclaw does not start while the file has a mistake. ` + "`picoclaw config check`" + ` reports mistakes with line and remedy.
` + "`picoclaw config show`" + ` prints values and their sources, ` + "`picoclaw config schema`" + ` a JSON Schema for editors.

Parentheses contain the type (unless the default shows the type) and the default. Keys with ● can also be set for one
agent, in ` + "`agents.agents`" + ` without ` + "`agents.defaults.`" + `. Sizes are bytes, or have a unit: KB or K (1024 bytes), MB, GB, TB.
`

// configSections are the sections of the configuration page, each with the prefix of its keys.
var configSections = []struct{ title, prefix string }{
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

// sectionTitle returns the title of the first section whose prefix a key has.
func sectionTitle(key string) string {
	for _, s := range configSections {
		if strings.HasPrefix(key, s.prefix) {
			return s.title
		}
	}
	return ""
}

// configurationPage returns the documentation page about the keys of the configuration.
func configurationPage(keys []config.KeySpec) string {
	own := map[string]bool{} // the agents' own versions of keys
	for _, key := range keys {
		if key.PerAgent {
			own["agents.agents[]."+key.NameInAgent()] = true
		}
	}
	var b strings.Builder
	b.WriteString(generatedNotice + configurationIntro)
	for _, section := range configSections {
		fmt.Fprintf(&b, "\n## %s\n\n", section.title)
		documented := map[string]string{} // the object of a key, by what the page says about the key
		same := map[string][]string{}     // keys documented for another object, by both objects
		var pairs []string                // keys of same
		for _, key := range keys {
			if sectionTitle(key.Name) != section.title || own[key.Name] || !generalizeHookKey(&key) {
				continue
			}
			object, name := splitKey(key.Name)
			text := name + describeKeyType(key) + key.Doc
			if first := documented[text]; first != "" {
				pair := formatCode(object) + " as " + formatCode(first)
				if same[pair] == nil {
					pairs = append(pairs, pair)
				}
				same[pair] = append(same[pair], formatCode(name))
				continue
			}
			documented[text] = object
			writeKey(&b, key)
		}
		for _, pair := range pairs {
			b.WriteString(wrapText("- "+strings.Join(same[pair], ", ")+": in "+pair+".", "  ") + "\n")
		}
	}
	return b.String()
}

// generalizeHookKey rewrites a key of the first hook event so that it stands for all events. It returns false for keys
// of other events, which the page omits.
func generalizeHookKey(key *config.KeySpec) bool {
	events := config.HookEventNames()
	for i, event := range events {
		rest, found := strings.CutPrefix(key.Name, "hooks."+event)
		if !found || rest != "" && rest[0] != '[' {
			continue
		}
		key.Name = "hooks.<Event>" + rest
		key.Doc = strings.Replace(key.Doc, event, "an event", 1)
		if rest == "" {
			key.Doc += " Events: " + strings.Join(events, ", ") + "."
		}
		return i == 0
	}
	return true
}

// splitKey splits a key at its last dot into an object and a name.
func splitKey(key string) (object, name string) {
	dot := strings.LastIndexByte(key, '.')
	return key[:max(dot, 0)], key[dot+1:]
}

// writeKey writes the list item about a key.
func writeKey(b *strings.Builder, key config.KeySpec) {
	name := formatCode(key.Name)
	if key.PerAgent {
		name += "●"
	}
	if key.Alias != "" {
		name += ", or " + formatCode(key.Alias)
	}
	var facts []string
	standard := formatDefault(key.Default)
	if standard == "" || key.Type != config.BoolType && key.Type != config.IntType {
		facts = append(facts, describeKeyType(key))
	}
	if key.Required {
		facts = append(facts, "required")
	}
	if standard != "" {
		facts = append(facts, standard)
	}
	b.WriteString(formatListItem(name, strings.Join(facts, "; "), key.Doc))
}

// describeKeyType returns the type of a key's value in words.
func describeKeyType(key config.KeySpec) string {
	switch {
	case len(key.Values) > 0:
		one := strings.Join(key.Values, "|")
		if len(one) > 80 { // lines break at spaces only
			one = strings.Join(key.Values, ", ")
		}
		if key.Type == config.StringsType {
			return "list of " + one
		}
		return one
	case (key.Format == config.PathFormat || key.Format == config.AbsoluteFormat) && key.Type == config.StringType:
		return "path"
	case key.Format == config.PathFormat:
		return "paths"
	case key.Format == config.RegexpFormat:
		return "regular expressions"
	}
	return strings.TrimPrefix(string(key.Type), "list of ")
}

// formatDefault returns a default value as code; empty for no value.
func formatDefault(value any) string {
	if value == nil {
		return ""
	}
	text, err := json.Marshal(value)
	if err != nil || string(text) == "[]" {
		return ""
	}
	return formatCode(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(text)))
}
