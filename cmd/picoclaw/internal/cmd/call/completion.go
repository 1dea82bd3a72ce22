package call

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/hosts"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// completeCall proposes a tool, then its arguments, for the agent that --agent names.
func completeCall(f *cli.Factory) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		agent, err := cmd.Flags().GetString("agent")
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		s, _, done, err := hosts.OpenSessionWith(f, (*session.Host).OpenPreviewSession, agent, session.CLI)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer done()
		words, space := completeWord(s, args, word)
		if !space {
			return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeTool proposes a tool.
func completeTool(f *cli.Factory) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completeCall(f)(cmd, nil, word)
	}
}

// completeWord proposes completions of word after the earlier words of a call. space is false if more text must follow.
func completeWord(s *session.Session, before []string, word string) (words []cobra.Completion, space bool) {
	if len(before) == 0 {
		for _, t := range s.Tools() {
			words = append(words, cobra.CompletionWithDesc(t.Name, cli.FirstSentence(t.Spec.Doc)))
		}
		return words, true
	}
	schema, err := inputSchema(s, before[0])
	if err != nil || schema == nil {
		return nil, true
	}
	if name, value, found := strings.Cut(word, "="); found {
		return completeValue(schema.Properties[name], name, value, s.Policy().WorkspacePath())
	}
	for _, name := range propertyNames(schema) {
		if !slices.ContainsFunc(before[1:], func(pair string) bool { return strings.HasPrefix(pair, name+"=") }) {
			words = append(words, cobra.CompletionWithDesc(name+"=", cli.FirstSentence(schema.Properties[name].Description)))
		}
	}
	return words, false
}

// completeValue proposes values of an argument: those in the schema, paths in the workspace, and files after @.
func completeValue(property *jsonschema.Schema, name, value, workspace string) (words []cobra.Completion, space bool) {
	if property == nil {
		return nil, true
	}
	for _, known := range property.Enum {
		if text, ok := known.(string); ok {
			words = append(words, name+"="+text)
		}
	}
	if property.Type == "boolean" {
		words = append(words, name+"=true", name+"=false")
	}
	if file, ok := strings.CutPrefix(value, "@"); ok && acceptsFileContent(property) {
		return completeFiles("", file, name+"=@"), false
	}
	switch claimOfProperty(property) {
	case "", pluginpb.ClaimCommand, pluginpb.ClaimStdin, pluginpb.ClaimEnv:
		return words, true
	}
	return completeFiles(workspace, value, name+"="), false
}

// completeFiles proposes the files in dir whose path begins with typed, each with a prefix.
func completeFiles(dir, typed, prefix string) []cobra.Completion {
	parent, last := filepath.Split(typed)
	at := parent
	if !filepath.IsAbs(parent) {
		at = filepath.Join(dir, parent)
	}
	at = cmp.Or(at, ".")
	entries, err := os.ReadDir(at)
	if err != nil {
		return nil
	}
	var words []cobra.Completion
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasPrefix(name, last) || strings.HasPrefix(name, ".") && last == "" {
			continue
		}
		if entry.IsDir() {
			name += "/"
		}
		words = append(words, prefix+parent+name)
	}
	return words
}
