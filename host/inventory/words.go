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
	for _, grant := range []struct {
		has   bool
		words []string
	}{
		{g.Workspace != "" && g.Workspace != "none", []string{"workspace", g.Workspace}},
		{g.Exec, append([]string{"exec"}, g.Programs...)},
		{g.Network, append([]string{"network"}, g.Hosts...)},
		{g.State, []string{"state"}}, {g.Takeback, []string{"takeback"}},
		{len(g.Env) > 0, append([]string{"env"}, g.Env...)},
		{len(g.Secrets) > 0, append([]string{"secrets"}, g.Secrets...)},
	} {
		if grant.has {
			words = append(words, strings.Join(grant.words, " "))
		}
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

// ExplainGrants returns a sentence for each permission in grants.
func ExplainGrants(g pluginpb.Grant) []string {
	var all []string
	for _, grant := range []struct {
		has      bool
		sentence string
	}{
		{g.Workspace == "ro", "read the agent's workspace and the paths that its policy opens"},
		{g.Workspace == "rw", "read and change the agent's workspace and the paths that its policy opens"},
		{g.Exec && len(g.Programs) > 0, "start these programs: " + strings.Join(g.Programs, ", ")},
		{g.Exec && len(g.Programs) == 0, "start other programs"},
		{g.Network && len(g.Hosts) > 0, "reach these hosts: " + strings.Join(g.Hosts, ", ")},
		{g.Network && len(g.Hosts) == 0, "reach the network, so it can send everything it reads anywhere"},
		{g.State, "keep files between runs"},
		{g.Takeback, "use the undo store, which has earlier file contents"},
		{len(g.Secrets) > 0, "use these secrets, without seeing them: " + strings.Join(g.Secrets, ", ")},
		{len(g.Env) > 0, "see these variables of picoclaw's environment: " + strings.Join(g.Env, ", ")},
	} {
		if grant.has {
			all = append(all, grant.sentence)
		}
	}
	return all
}
