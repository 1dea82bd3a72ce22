package mcpservers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/host/redact"
	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// maxPlausibleText is the length in bytes above which a text is suspicious, since people do not read it.
const maxPlausibleText = 4096

// injectionPattern matches typical prompt injections in descriptions.
var injectionPattern = lazyregexp.New(`(?i)` + strings.Join([]string{
	`ignore (all |any |the )?(previous|prior|above|other)`, `<\s*/?\s*(important|system|secret|instructions?|critical)\s*>`,
	`do not (tell|mention|inform|reveal|show|notify)`, `don'?t (tell|mention|inform|reveal|show|notify)`,
	`(without|never) (telling|mentioning|informing|asking) the user`, `system prompt`, `you (must|should) (always|first|never)`,
	`before (using|calling|you use|you call) (this|any|other|the) `, `instead of (using |calling )?(the |any )?other tool`,
	`\.ssh/|id_rsa|id_ed25519|\.aws/credentials|/etc/(passwd|shadow)`, `(api|access|secret)[ _-]?key.{0,40}(pass|send|include|as (the|an) argument)`,
	`side ?note`, `conversation (history|so far)`,
}, "|"))

// SuspiciousTextWarnings returns warnings about suspicious texts of a server. shadows returns the plugin that has
// another tool with the same name; empty if none has.
func SuspiciousTextWarnings(info *ServerInfo, shadows func(tool string) string) []string {
	var out []string
	sameNames := map[string][]string{} // names, by whose they are already
	checkTexts := func(at string, all ...string) {
		for _, text := range all {
			out = append(out, textWarnings(at, text)...)
		}
	}
	checkTexts("its instructions", info.Instructions)
	for _, name := range slices.Sorted(maps.Keys(info.Tools)) {
		d := info.Tools[name].Tool
		at := "tool " + shortenLine(name)
		checkTexts(at, name, d.Title, d.Annotations.Title, d.Description)
		checkTexts(at+"'s arguments", collectStrings(d.Input)...)
		checkTexts(at+"'s results", collectStrings(d.Output)...)
		if other := shadows(name); other != "" {
			sameNames[other] = append(sameNames[other], shortenLine(name))
		}
	}
	for _, other := range slices.Sorted(maps.Keys(sameNames)) {
		out = append(out, fmt.Sprintf("%s has tools of the same names, which a model may take for these: %s", other,
			strings.Join(sameNames[other], ", ")))
	}
	return slices.Compact(out)
}

// secretWarnings returns warnings about environment variables and headers that look like secrets. The server could
// send them to every host it may reach.
func (s *ServerSpec) secretWarnings() (out []string) {
	for kind, all := range map[string]map[string]string{"variable": s.Env, "header": s.Headers} {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			value := all[name]
			if value == "" || strings.Contains(value, "${") || !redact.IsSecretName(name) && redact.RedactText(name+": "+value) == name+": "+value {
				continue
			}
			out = append(out, fmt.Sprintf("the %s %s looks like a secret that the server could read; configure its source "+
				"(secrets.%[3]s) and grant it with --secret %[3]s instead, so that the server gets only a placeholder",
				kind, name, cmp.Or(map[string]string{"variable": name}[kind], "NAME")))
		}
	}
	slices.Sort(out)
	return out
}

// textWarnings returns warnings about a text: hidden characters, instructions to the model, or excessive length.
func textWarnings(at, text string) (out []string) {
	if i := strings.IndexFunc(text, hiddentext.IsHidden); i >= 0 {
		r := []rune(text[i:])[0]
		out = append(out, fmt.Sprintf("%s has invisible characters (U+%04X)", at, r))
	}
	visible := strings.Map(func(r rune) rune {
		if hiddentext.IsHidden(r) {
			return -1
		}
		return r
	}, text)
	if found := injectionPattern().FindString(visible); found != "" {
		out = append(out, fmt.Sprintf("%s instructs the model: %q", at, shortenLine(found)))
	}
	if len(text) > maxPlausibleText {
		out = append(out, fmt.Sprintf("%s has a text of %d bytes", at, len(text)))
	}
	return out
}

// collectStrings returns all strings in a schema, including property names.
func collectStrings(v any) (out []string) {
	switch v := v.(type) {
	case string:
		out = append(out, v)
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out = append(append(out, name), collectStrings(v[name])...)
		}
	case []any:
		for _, one := range v {
			out = append(out, collectStrings(one)...)
		}
	}
	return out
}
