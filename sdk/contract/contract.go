// Package contract finds weaknesses in a plugin's manifest: promises it should not make, and missing information for
// agents and operators. Hosts accept such plugins; [pluginpb.Manifest.Check] finds what they reject.
//
// It must not know how a plugin is started, nor what an operator grants.
package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// ManifestFinding is a weakness of a manifest that the plugin's author should fix.
type ManifestFinding struct {
	Tool    string `json:"tool,omitempty"`  // empty if the finding concerns the whole plugin
	Field   string `json:"field,omitempty"` // argument of the tool, such as "files.*.path"
	Problem string `json:"problem"`
	Cure    string `json:"cure"`
}

func (f ManifestFinding) String() string {
	at := ""
	if f.Tool != "" {
		at = "tool " + f.Tool + ": "
	}
	if f.Field != "" {
		at += "field " + f.Field + ": "
	}
	return at + f.Problem + "; " + f.Cure
}

// versionPattern matches semantic versions.
var versionPattern = lazyregexp.New(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// maxSummaryBytes is the maximum length of the first line of a doc, which lists show.
const maxSummaryBytes = 200

// CheckManifest returns the weaknesses of a valid manifest, or an error for an invalid one.
func CheckManifest(m *pluginpb.Manifest) ([]ManifestFinding, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	c := &manifestChecker{manifest: m}
	c.checkVersionAndDoc()
	for i := range m.Tools {
		if err := c.checkTool(&m.Tools[i]); err != nil {
			return nil, err
		}
	}
	c.checkGrants()
	return c.findings, nil
}

// manifestChecker checks one manifest and collects findings.
type manifestChecker struct {
	manifest *pluginpb.Manifest
	findings []ManifestFinding
	tools    []toolArgumentClaims
}

// toolArgumentClaims are the claimed arguments of one tool.
type toolArgumentClaims struct {
	tool  *pluginpb.ToolSpec
	sites []pluginpb.ClaimedArgument
}

func (c *toolArgumentClaims) hasAnyClaim(which ...pluginpb.ArgumentClaim) bool {
	return slices.ContainsFunc(c.sites, func(s pluginpb.ClaimedArgument) bool { return slices.Contains(which, s.Claim) })
}

func (c *manifestChecker) addFinding(tool, field, problem, cure string) {
	c.findings = append(c.findings, ManifestFinding{Tool: tool, Field: field, Problem: problem, Cure: cure})
}

func (c *manifestChecker) checkVersionAndDoc() {
	m := c.manifest
	if !versionPattern().MatchString(m.Version) {
		c.addFinding("", "", fmt.Sprintf("the version %q is not a semantic one", m.Version), "write three numbers, such as 1.0.0")
	}
	c.checkDoc("", "the plugin", m.Doc)
}

// checkDoc checks a doc text for agents or operators.
func (c *manifestChecker) checkDoc(tool, what, text string) {
	summary, _, _ := strings.Cut(text, "\n")
	switch {
	case strings.TrimSpace(text) == "":
		c.addFinding(tool, "", what+" has no doc", "describe its purpose in a sentence")
	case len(summary) > maxSummaryBytes:
		c.addFinding(tool, "", fmt.Sprintf("the first line of %s's doc has %d bytes", what, len(summary)),
			fmt.Sprintf("shorten it to %d, and write the rest below", maxSummaryBytes))
	case strings.TrimSpace(text) != text:
		c.addFinding(tool, "", what+"'s doc begins or ends with space", "remove it")
	}
}

func (c *manifestChecker) checkTool(s *pluginpb.ToolSpec) error {
	c.checkDoc(s.Name, "the tool", s.Doc)
	_, sites, err := s.CompileInputSchema()
	if err != nil {
		return err
	}
	found := toolArgumentClaims{tool: s, sites: sites}
	c.tools = append(c.tools, found)
	c.checkHints(found)
	input, err := s.Input.Parse()
	if err != nil {
		return err
	}
	if !rejectsUnknownFields(input) {
		c.addFinding(s.Name, "", "its arguments are open: unknown names are accepted",
			`add "additionalProperties": false to the schema`)
	}
	c.checkFields(s.Name, "", input)
	return nil
}

// checkHints compares a tool's hints, such as ReadOnly, with its claims.
func (c *manifestChecker) checkHints(t toolArgumentClaims) {
	name := t.tool.Name
	switch {
	case t.tool.ReadOnly && t.tool.Destructive:
		c.addFinding(name, "", "it is both read-only and destructive", "remove ReadOnly or Destructive")
	case t.tool.ReadOnly && t.hasAnyClaim(pluginpb.ClaimWrite, pluginpb.ClaimDelete):
		c.addFinding(name, "", "it is read-only, but claims a path to write or delete",
			"remove ReadOnly, or claim read")
	case t.hasAnyClaim(pluginpb.ClaimDelete) && !t.tool.Destructive:
		c.addFinding(name, "", "it deletes, but is not marked destructive", "add Destructive")
	}
	if t.hasAnyClaim(pluginpb.ClaimCwd, pluginpb.ClaimStdin, pluginpb.ClaimEnv) && !t.hasAnyClaim(pluginpb.ClaimCommand) {
		c.addFinding(name, "", "it claims the surroundings of a command, and no command",
			"claim command for the field with the command")
	}
	if risk := t.tool.Risk; risk != "" && !slices.Contains([]string{"low", "medium", "high"}, risk) {
		c.addFinding(name, "", fmt.Sprintf("its risk is %q", risk), "set low, medium or high")
	}
}

// checkGrants compares the requested grants with the claims of the tools.
func (c *manifestChecker) checkGrants() {
	asked := c.manifest.Grants
	changes := false
	for _, t := range c.tools {
		name := t.tool.Name
		paths := t.hasAnyClaim(pluginpb.ClaimRead, pluginpb.ClaimList, pluginpb.ClaimWrite, pluginpb.ClaimDelete)
		switch {
		case paths && asked.Workspace == "none":
			c.addFinding(name, "", "it takes paths, but the plugin requests no workspace", "request it in Grants")
		case t.hasAnyClaim(pluginpb.ClaimWrite, pluginpb.ClaimDelete) && asked.Workspace == "ro":
			c.addFinding(name, "", "it changes files, but the plugin requests a read-only workspace",
				"request WorkspaceAccess in Grants")
		}
		if t.hasAnyClaim(pluginpb.ClaimCommand) && !asked.Exec {
			c.addFinding(name, "", "it takes commands, but the plugin does not request Exec", "request Exec in Grants")
		}
		changes = changes || !t.tool.ReadOnly
	}
	if asked.Workspace == "rw" && !changes {
		c.addFinding("", "", "the plugin requests to change the workspace, but all its tools are read-only",
			"request ReadOnlyWorkspace")
	}
}

// pathNouns are last words of argument names that usually mean a path or command, with the claims that fit.
var pathNouns = map[string]string{
	"path": "read, write, list or delete", "paths": "read, write, list or delete",
	"file": "read, write or delete", "files": "read, write or delete",
	"filename": "read, write or delete", "filenames": "read, write or delete",
	"dir": "list, read, write or delete", "dirs": "list, read, write or delete",
	"directory": "list, read, write or delete", "directories": "list, read, write or delete",
	"folder": "list, read, write or delete", "folders": "list, read, write or delete",
	"command": "command", "commands": "command", "cmd": "command",
}

// rejectsUnknownFields reports whether an object schema rejects unknown names.
func rejectsUnknownFields(s *jsonschema.Schema) bool {
	if s.AdditionalProperties == nil {
		return false
	}
	text, err := json.Marshal(s.AdditionalProperties)
	return err == nil && bytes.Equal(text, []byte("false"))
}

// checkFields checks the properties of an object, and nested ones.
func (c *manifestChecker) checkFields(tool, at string, s *jsonschema.Schema) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		c.checkField(tool, at+name, name, s.Properties[name])
	}
}

func (c *manifestChecker) checkField(tool, at, name string, s *jsonschema.Schema) {
	if strings.TrimSpace(s.Description) == "" {
		c.addFinding(tool, at, "it has no description", `describe it in the field's jsonschema tag`)
	}
	if len(s.Default) > 0 {
		if err := checkDefault(s); err != nil {
			c.addFinding(tool, at, fmt.Sprintf("its default %s does not fit: %v", s.Default, err), "choose one that a call could give")
		}
	}
	inner, below := s, at
	for inner.Items != nil {
		inner, below = inner.Items, below+".*"
	}
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '-' })
	if claims, ok := pathNouns[lastWord(words)]; ok && acceptsText(inner) && !hasClaim(s) && !hasClaim(inner) {
		c.addFinding(tool, at, "its name suggests a path or command, but it has no claim, so the guard ignores it",
			fmt.Sprintf("claim %s in the field's claim tag, or call it something else", claims))
	}
	c.checkFields(tool, below+".", inner)
}

func lastWord(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}

func acceptsText(s *jsonschema.Schema) bool {
	return len(s.Enum) == 0 && (s.Type == "string" || slices.Contains(s.Types, "string"))
}

func hasClaim(s *jsonschema.Schema) bool { return s.Extra[pluginpb.ClaimKey] != nil }

// checkDefault returns an error if a schema's default does not fit it.
func checkDefault(s *jsonschema.Schema) error {
	var value any
	if err := json.Unmarshal(s.Default, &value); err != nil {
		return err
	}
	alone := s.CloneSchemas()
	alone.Default = nil
	resolved, err := alone.Resolve(nil)
	if err != nil {
		return err
	}
	return resolved.Validate(value)
}
