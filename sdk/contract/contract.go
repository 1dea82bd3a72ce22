// Package contract says what a plugin's manifest promises that it should not, or leaves unsaid that agents and
// operators need: the part of a plugin's quality that can be read off it without running it. A host takes such a plugin
// all the same; [pluginpb.Manifest.Check] says what it does not take.
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

// Finding is something about a plugin that its author should change.
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

// semantic is a semantic version: three numbers, and what may follow them.
var semantic = lazyregexp.New(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// maxSummary is how long the first line of a doc may be, in bytes: it is shown in lists.
const maxSummary = 200

// Check reads a manifest that a host takes. An error means that a host does not.
func Check(m *pluginpb.Manifest) ([]Finding, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	c := &check{manifest: m}
	c.plugin()
	for i := range m.Tools {
		if err := c.tool(&m.Tools[i]); err != nil {
			return nil, err
		}
	}
	c.grants()
	return c.findings, nil
}

// check collects what is found.
type check struct {
	manifest *pluginpb.Manifest
	findings []Finding
	tools    []claims
}

// claims is what one tool's arguments name.
type claims struct {
	tool  *pluginpb.Spec
	sites []pluginpb.Site
}

func (c *claims) has(which ...pluginpb.Claim) bool {
	return slices.ContainsFunc(c.sites, func(s pluginpb.Site) bool { return slices.Contains(which, s.Claim) })
}

func (c *check) add(tool, field, problem, cure string) {
	c.findings = append(c.findings, Finding{Tool: tool, Field: field, Problem: problem, Cure: cure})
}

func (c *check) plugin() {
	m := c.manifest
	if !semantic().MatchString(m.Version) {
		c.add("", "", fmt.Sprintf("the version %q is not a semantic one", m.Version), "write three numbers, such as 1.0.0")
	}
	c.doc("", "the plugin", m.Doc)
}

// doc looks at a text that agents or operators choose by.
func (c *check) doc(tool, what, text string) {
	summary, _, _ := strings.Cut(text, "\n")
	switch {
	case strings.TrimSpace(text) == "":
		c.add(tool, "", what+" has no doc", "say in a sentence what it is for")
	case len(summary) > maxSummary:
		c.add(tool, "", fmt.Sprintf("the first line of %s's doc has %d bytes", what, len(summary)),
			fmt.Sprintf("say it in %d, and the rest below", maxSummary))
	case strings.TrimSpace(text) != text:
		c.add(tool, "", what+"'s doc begins or ends with space", "take it off")
	}
}

func (c *check) tool(s *pluginpb.Spec) error {
	c.doc(s.Name, "the tool", s.Doc)
	_, sites, err := s.Arguments()
	if err != nil {
		return err
	}
	found := claims{tool: s, sites: sites}
	c.tools = append(c.tools, found)
	c.hints(found)
	input, err := s.Input.Parse()
	if err != nil {
		return err
	}
	if !closed(input) {
		c.add(s.Name, "", "its arguments are open: names that it does not know are taken",
			`add "additionalProperties": false to the schema`)
	}
	c.fields(s.Name, "", input)
	return nil
}

// hints compares what a tool says of itself with what its arguments claim.
func (c *check) hints(t claims) {
	name := t.tool.Name
	switch {
	case t.tool.ReadOnly && t.tool.Destructive:
		c.add(name, "", "it says that it changes nothing and that it destroys", "take off one of ReadOnly and Destructive")
	case t.tool.ReadOnly && t.has(pluginpb.ClaimWrite, pluginpb.ClaimDelete):
		c.add(name, "", "it says that it changes nothing, and claims a path to write or delete",
			"take off ReadOnly, or claim read")
	case t.has(pluginpb.ClaimDelete) && !t.tool.Destructive:
		c.add(name, "", "it deletes and does not say that it is destructive", "add Destructive")
	}
	if t.has(pluginpb.ClaimCwd, pluginpb.ClaimStdin, pluginpb.ClaimEnv) && !t.has(pluginpb.ClaimCommand) {
		c.add(name, "", "it claims the surroundings of a command, and no command",
			"claim command for the field that holds it")
	}
	if risk := t.tool.Risk; risk != "" && !slices.Contains([]string{"low", "medium", "high"}, risk) {
		c.add(name, "", fmt.Sprintf("its risk is %q", risk), "say low, medium or high")
	}
}

// grants compares what the plugin asks for with what its tools need.
func (c *check) grants() {
	asked := c.manifest.Grants
	changes := false
	for _, t := range c.tools {
		name := t.tool.Name
		paths := t.has(pluginpb.ClaimRead, pluginpb.ClaimList, pluginpb.ClaimWrite, pluginpb.ClaimDelete)
		switch {
		case paths && asked.Workspace == "none":
			c.add(name, "", "it takes paths, and the plugin asks for no workspace", "ask for it in Grants")
		case t.has(pluginpb.ClaimWrite, pluginpb.ClaimDelete) && asked.Workspace == "ro":
			c.add(name, "", "it changes files, and the plugin asks for a workspace to read only",
				"ask for WorkspaceAccess in Grants")
		}
		if t.has(pluginpb.ClaimCommand) && !asked.Exec {
			c.add(name, "", "it takes commands, and the plugin does not ask to start programs", "ask for Exec in Grants")
		}
		changes = changes || !t.tool.ReadOnly
	}
	if asked.Workspace == "rw" && !changes {
		c.add("", "", "the plugin asks to change the workspace, and all its tools say that they change nothing",
			"ask for ReadOnlyWorkspace")
	}
}
