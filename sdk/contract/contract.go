// Package contract finds weaknesses in a plugin's manifest: promises it should not make, and missing information for
// agents and operators. Hosts accept such plugins; [pluginpb.Manifest.Check] finds what they reject.
//
// It must not know how a plugin is started, nor what an operator grants.
package contract

import (
	"fmt"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Finding is a weakness the author should fix.
type Finding struct {
	Tool    string `json:"tool,omitempty"`  // empty when it is about the plugin as a whole
	Field   string `json:"field,omitempty"` // of the tool's arguments, such as "files.*.path"
	Problem string `json:"problem"`
	Cure    string `json:"cure"`
}

func (f Finding) String() string {
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

// maxSummaryBytes limits the first line of a doc, which lists show.
const maxSummaryBytes = 200

// CheckManifest returns the findings about a valid manifest, or an error for an invalid one.
func CheckManifest(m *pluginpb.Manifest) ([]Finding, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	c := &manifestCheck{manifest: m}
	c.checkPlugin()
	for i := range m.Tools {
		if err := c.checkTool(&m.Tools[i]); err != nil {
			return nil, err
		}
	}
	c.checkGrants()
	return c.findings, nil
}

// manifestCheck collects findings.
type manifestCheck struct {
	manifest *pluginpb.Manifest
	findings []Finding
	tools    []toolClaims
}

// toolClaims are the claims of one tool's arguments.
type toolClaims struct {
	tool  *pluginpb.Spec
	sites []pluginpb.Site
}

func (c *toolClaims) hasAny(which ...pluginpb.Claim) bool {
	return slices.ContainsFunc(c.sites, func(s pluginpb.Site) bool { return slices.Contains(which, s.Claim) })
}

func (c *manifestCheck) addFinding(tool, field, problem, cure string) {
	c.findings = append(c.findings, Finding{Tool: tool, Field: field, Problem: problem, Cure: cure})
}

func (c *manifestCheck) checkPlugin() {
	m := c.manifest
	if !versionPattern().MatchString(m.Version) {
		c.addFinding("", "", fmt.Sprintf("the version %q is not a semantic one", m.Version), "write three numbers, such as 1.0.0")
	}
	c.checkDoc("", "the plugin", m.Doc)
}

// checkDoc checks a text for agents or operators.
func (c *manifestCheck) checkDoc(tool, what, text string) {
	summary, _, _ := strings.Cut(text, "\n")
	switch {
	case strings.TrimSpace(text) == "":
		c.addFinding(tool, "", what+" has no doc", "describe its purpose in a sentence")
	case len(summary) > maxSummaryBytes:
		c.addFinding(tool, "", fmt.Sprintf("the first line of %s's doc has %d bytes", what, len(summary)),
			fmt.Sprintf("say it in %d, and the rest below", maxSummaryBytes))
	case strings.TrimSpace(text) != text:
		c.addFinding(tool, "", what+"'s doc begins or ends with space", "take it off")
	}
}

func (c *manifestCheck) checkTool(s *pluginpb.Spec) error {
	c.checkDoc(s.Name, "the tool", s.Doc)
	_, sites, err := s.Arguments()
	if err != nil {
		return err
	}
	found := toolClaims{tool: s, sites: sites}
	c.tools = append(c.tools, found)
	c.checkHints(found)
	input, err := s.Input.Parse()
	if err != nil {
		return err
	}
	if !isClosed(input) {
		c.addFinding(s.Name, "", "its arguments are open: names that it does not know are taken",
			`add "additionalProperties": false to the schema`)
	}
	c.checkFields(s.Name, "", input)
	return nil
}

// checkHints compares a tool's traits with its claims.
func (c *manifestCheck) checkHints(t toolClaims) {
	name := t.tool.Name
	switch {
	case t.tool.ReadOnly && t.tool.Destructive:
		c.addFinding(name, "", "it says that it changes nothing and that it destroys", "take off one of ReadOnly and Destructive")
	case t.tool.ReadOnly && t.hasAny(pluginpb.ClaimWrite, pluginpb.ClaimDelete):
		c.addFinding(name, "", "it says that it changes nothing, and claims a path to write or delete",
			"take off ReadOnly, or claim read")
	case t.hasAny(pluginpb.ClaimDelete) && !t.tool.Destructive:
		c.addFinding(name, "", "it deletes and does not say that it is destructive", "add Destructive")
	}
	if t.hasAny(pluginpb.ClaimCwd, pluginpb.ClaimStdin, pluginpb.ClaimEnv) && !t.hasAny(pluginpb.ClaimCommand) {
		c.addFinding(name, "", "it claims the surroundings of a command, and no command",
			"claim command for the field that holds it")
	}
	if risk := t.tool.Risk; risk != "" && !slices.Contains([]string{"low", "medium", "high"}, risk) {
		c.addFinding(name, "", fmt.Sprintf("its risk is %q", risk), "say low, medium or high")
	}
}

// checkGrants compares the requested grants with the tools' needs.
func (c *manifestCheck) checkGrants() {
	asked := c.manifest.Grants
	changes := false
	for _, t := range c.tools {
		name := t.tool.Name
		paths := t.hasAny(pluginpb.ClaimRead, pluginpb.ClaimList, pluginpb.ClaimWrite, pluginpb.ClaimDelete)
		switch {
		case paths && asked.Workspace == "none":
			c.addFinding(name, "", "it takes paths, and the plugin asks for no workspace", "ask for it in Grants")
		case t.hasAny(pluginpb.ClaimWrite, pluginpb.ClaimDelete) && asked.Workspace == "ro":
			c.addFinding(name, "", "it changes files, and the plugin asks for a workspace to read only",
				"ask for WorkspaceAccess in Grants")
		}
		if t.hasAny(pluginpb.ClaimCommand) && !asked.Exec {
			c.addFinding(name, "", "it takes commands, and the plugin does not ask to start programs", "ask for Exec in Grants")
		}
		changes = changes || !t.tool.ReadOnly
	}
	if asked.Workspace == "rw" && !changes {
		c.addFinding("", "", "the plugin asks to change the workspace, and all its tools say that they change nothing",
			"ask for ReadOnlyWorkspace")
	}
}
