package inventory

import (
	"strings"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// ToolInfo describes a tool in JSON output.
type ToolInfo struct {
	Name        string           `json:"name"`
	Plugin      string           `json:"plugin"`
	Doc         string           `json:"doc"`
	Permissions []string         `json:"permissions,omitempty"`
	Risk        string           `json:"risk,omitempty"`
	ReadOnly    bool             `json:"read_only"`
	Deferred    bool             `json:"deferred,omitempty"`
	Input       *pluginpb.Schema `json:"input"`
	Output      *pluginpb.Schema `json:"output,omitempty"`
}

func NewToolInfos(tools []session.Tool) []ToolInfo {
	list := make([]ToolInfo, 0, len(tools))
	for _, t := range tools {
		list = append(list, ToolInfo{
			Name: t.Name, Plugin: t.Plugin, Doc: t.Spec.Doc, Permissions: t.Spec.Permissions, Risk: t.Spec.Risk,
			ReadOnly: t.Spec.ReadOnly, Deferred: t.Deferred, Input: t.Spec.Input, Output: t.Spec.Output,
		})
	}
	return list
}

// SummariseGrants summarises grants in a few words.
func SummariseGrants(g *pluginpb.Grant) string {
	if g == nil {
		return "none"
	}
	var words []string
	if g.Workspace != "" && g.Workspace != "none" {
		words = append(words, "workspace "+g.Workspace)
	}
	for _, grant := range []struct {
		name string
		has  bool
	}{{execGrantText(g), g.Exec}, {networkGrantText(g), g.Network}, {"state", g.State}, {"takeback", g.Takeback}} {
		if grant.has {
			words = append(words, grant.name)
		}
	}
	if len(g.Env) > 0 {
		words = append(words, "env "+strings.Join(g.Env, " "))
	}
	if len(g.Secrets) > 0 {
		words = append(words, "secrets "+strings.Join(g.Secrets, " "))
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

func networkGrantText(g *pluginpb.Grant) string {
	if len(g.Hosts) == 0 {
		return "network"
	}
	return "network " + strings.Join(g.Hosts, " ")
}

func execGrantText(g *pluginpb.Grant) string {
	if len(g.Programs) == 0 {
		return "exec"
	}
	return "exec " + strings.Join(g.Programs, " ")
}

// ExplainGrants returns a sentence for each permission in grants.
func ExplainGrants(g pluginpb.Grant) []string {
	var all []string
	switch g.Workspace {
	case "ro":
		all = append(all, "read the agent's workspace and the paths that its policy opens")
	case "rw":
		all = append(all, "read and change the agent's workspace and the paths that its policy opens")
	}
	if g.Exec && len(g.Programs) > 0 {
		all = append(all, "start these programs: "+strings.Join(g.Programs, ", "))
	} else if g.Exec {
		all = append(all, "start other programs")
	}
	if g.Network && len(g.Hosts) > 0 {
		all = append(all, "reach these hosts: "+strings.Join(g.Hosts, ", "))
	} else if g.Network {
		all = append(all, "reach the network, so it can send everything it reads anywhere")
	}
	if g.State {
		all = append(all, "keep files between runs")
	}
	if g.Takeback {
		all = append(all, "use the undo store, which has earlier file contents")
	}
	if len(g.Secrets) > 0 {
		all = append(all, "use these secrets, without seeing them: "+strings.Join(g.Secrets, ", "))
	}
	if len(g.Env) > 0 {
		all = append(all, "see these variables of picoclaw's environment: "+strings.Join(g.Env, ", "))
	}
	return all
}
