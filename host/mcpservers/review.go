package mcpservers

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/host/redact"
	"github.com/picoclaw/picoclaw/host/store"
	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
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

// RebuildWithGrants builds a package from the files and tools of an installed version, with the grants of spec. It
// fetches nothing.
func RebuildWithGrants(s *store.Store, id string, pin *store.InstalledPlugin, spec *ServerSpec) (*store.StagedPackage, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	manifest, err := s.ReadManifest(id, &pin.PluginVersion)
	if err != nil {
		return nil, err
	}
	text, err := s.ReadVerifiedFile(id, &pin.PluginVersion, DefinitionFile)
	if err != nil {
		return nil, err
	}
	d, err := decodeDefinition(text)
	if err != nil {
		return nil, err
	}
	var own []string
	if len(d.Command) > 0 {
		own = append(own, strings.Replace(d.Command[0], "{{data}}", store.DataDir, 1))
	}
	manifest.Grants, d.Asked = spec.buildGrants(own), spec
	fetched, _, _ := strings.Cut(d.Package, " ")
	known, err := lookupKnownServer(fetched)
	for i := range manifest.Tools { // paths need claims as soon as there is a workspace
		err = errors.Join(err, d.addArgumentClaims(&manifest.Tools[i], known.Claims))
	}
	if err != nil {
		return nil, err
	}
	version, _, _ := strings.Cut(manifest.Version, "+")
	p, err := s.StagePackageFunc(spec.SourceForDisplay(), func(p *store.StagedPackage) error {
		p.Program = programID
		if pin.Data != "" {
			from := filepath.Join(s.VersionDir(id, pin.Version), store.DataDir)
			if copyErr := os.CopyFS(filepath.Join(p.StagingDir(), store.DataDir), os.DirFS(from)); copyErr != nil {
				return copyErr
			}
		}
		return writeManifestFiles(p.StagingDir(), manifest, d, version)
	})
	if err != nil {
		return nil, err
	}
	p.Agents = spec.Agents
	if p.Data != pin.Data {
		p.Discard()
		return nil, &store.ChangedFileError{Plugin: id, File: store.DataDir}
	}
	return p, nil
}

// addArgumentClaims adds the claims that the server's spec implies to an accepted tool's schema.
func (d *serverDefinition) addArgumentClaims(t *pluginpb.ToolSpec, known map[string]string) error {
	text, err := json.Marshal(t.Input)
	if err != nil {
		return err
	}
	description := &ToolDescription{Name: d.Tools[t.Name].Name}
	description.Annotations.ReadOnly = t.ReadOnly
	if err = json.Unmarshal(text, &description.Input); err != nil {
		return err
	}
	for field, claim := range proposeClaims(d.Asked, description, t.Name, known) {
		if claim != noClaim {
			setSchemaClaim(description.Input, strings.Split(field, "."), claim)
		}
	}
	t.Input, err = schemaFromMap(description.Input)
	return err
}
