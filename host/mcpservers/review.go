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

// longDescription is a length from which on nobody reads what a model is told, in bytes.
const longDescription = 4096

// instructions are what descriptions say that mean to steer a model and not to describe a tool.
var instructions = lazyregexp.New(`(?i)` + strings.Join([]string{
	`ignore (all |any |the )?(previous|prior|above|other)`, `<\s*/?\s*(important|system|secret|instructions?|critical)\s*>`,
	`do not (tell|mention|inform|reveal|show|notify)`, `don'?t (tell|mention|inform|reveal|show|notify)`,
	`(without|never) (telling|mentioning|informing|asking) the user`, `system prompt`, `you (must|should) (always|first|never)`,
	`before (using|calling|you use|you call) (this|any|other|the) `, `instead of (using |calling )?(the |any )?other tool`,
	`\.ssh/|id_rsa|id_ed25519|\.aws/credentials|/etc/(passwd|shadow)`, `(api|access|secret)[ _-]?key.{0,40}(pass|send|include|as (the|an) argument)`,
	`side ?note`, `conversation (history|so far)`,
}, "|"))

// Review says what is suspicious in what a server says to a model. shadows returns who has a tool of a name already; ""
// for nobody.
func Review(said *Said, shadows func(tool string) string) []string {
	var out []string
	same := map[string][]string{} // names, by whose they are already
	texts := func(at string, all ...string) {
		for _, text := range all {
			out = append(out, suspicious(at, text)...)
		}
	}
	texts("its instructions", said.Instructions)
	for _, name := range slices.Sorted(maps.Keys(said.Tools)) {
		d := said.Tools[name].Tool
		at := "tool " + oneLine(name)
		texts(at, name, d.Title, d.Annotations.Title, d.Description)
		texts(at+"'s arguments", strs(d.Input)...)
		texts(at+"'s results", strs(d.Output)...)
		if other := shadows(name); other != "" {
			same[other] = append(same[other], oneLine(name))
		}
	}
	for _, other := range slices.Sorted(maps.Keys(same)) {
		out = append(out, fmt.Sprintf("%s has tools of the same names, which a model may take for these: %s", other,
			strings.Join(same[other], ", ")))
	}
	return slices.Compact(out)
}

// readable says what the server is given that looks like a secret: it can read it, and send it wherever it may.
func (s *Spec) readable() (out []string) {
	for kind, all := range map[string]map[string]string{"variable": s.Env, "header": s.Headers} {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			value := all[name]
			if value == "" || strings.Contains(value, "${") || !redact.Name(name) && redact.Text(name+": "+value) == name+": "+value {
				continue
			}
			out = append(out, fmt.Sprintf("the %s %s looks like a secret, and the server reads it; say in the configuration where it "+
				"comes from (secrets.%[3]s), and grant it with --secret %[3]s in place of this: the server gets a placeholder then",
				kind, name, cmp.Or(map[string]string{"variable": name}[kind], "NAME")))
		}
	}
	slices.Sort(out)
	return out
}

func suspicious(at, text string) (out []string) {
	if i := strings.IndexFunc(text, hiddentext.IsHidden); i >= 0 {
		r := []rune(text[i:])[0]
		out = append(out, fmt.Sprintf("%s has characters that can't be seen (U+%04X)", at, r))
	}
	visible := strings.Map(func(r rune) rune {
		if hiddentext.IsHidden(r) {
			return -1
		}
		return r
	}, text)
	if found := instructions().FindString(visible); found != "" {
		out = append(out, fmt.Sprintf("%s tells the model what to do: %q", at, oneLine(found)))
	}
	if len(text) > longDescription {
		out = append(out, fmt.Sprintf("%s has a text of %d bytes", at, len(text)))
	}
	return out
}

// strs are all texts in a schema, names among them.
func strs(v any) (out []string) {
	switch v := v.(type) {
	case string:
		out = append(out, v)
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out = append(append(out, name), strs(v[name])...)
		}
	case []any:
		for _, one := range v {
			out = append(out, strs(one)...)
		}
	}
	return out
}
