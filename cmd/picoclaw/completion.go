package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// completer proposes words for a shell's completion. Whatever goes wrong proposes nothing: there is no place to say it.
type completer func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective)

// complete sets how the value of a flag is completed.
func (a *app) complete(cmd *cobra.Command, flag string, by completer) {
	if err := cmd.RegisterFlagCompletionFunc(flag, by); err != nil {
		panic(err) // there is no such flag: a mistake in this program
	}
}

// fixed proposes the same words always.
func fixed(words ...string) completer {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// directories proposes the shell's directories.
func directories(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// agentNames proposes the agents of the configuration.
func (a *app) agentNames(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	cfg, err := a.config("")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return cfg.AgentIDs(), cobra.ShellCompDirectiveNoFileComp
}

// completeKeys proposes keys of the configuration.
func completeKeys(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var keys []cobra.Completion
	for _, row := range config.Schema() {
		if !strings.ContainsAny(row.Name, "[<$") {
			keys = append(keys, cobra.CompletionWithDesc(row.Name, firstSentence(row.Doc)))
		}
	}
	return keys, cobra.ShellCompDirectiveNoFileComp
}

// completeCommands proposes the commands below the one that words name.
func completeCommands(root *cobra.Command, words []string) ([]cobra.Completion, cobra.ShellCompDirective) {
	cmd, rest, err := root.Find(words)
	if err != nil || len(rest) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []cobra.Completion
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// filesAfter are the commands that take a file or a directory.
func filesAfter() []string {
	return []string{"picoclaw plugin install", "picoclaw plugin check", "picoclaw docs"}
}

// withoutFiles keeps shells from proposing files to commands that take none: that is what they do unless they are told.
func withoutFiles(cmd *cobra.Command) {
	if cmd.ValidArgsFunction == nil && !slices.Contains(filesAfter(), cmd.CommandPath()) {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, sub := range cmd.Commands() {
		withoutFiles(sub)
	}
}

func firstSentence(doc string) string {
	first, _, _ := strings.Cut(doc, ". ")
	return strings.TrimSuffix(first, ".")
}

// completeCall proposes a tool, then its arguments, for the agent that the flag names.
func completeCall(a *app) completer {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		agent, err := cmd.Flags().GetString("agent")
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		s, _, done, err := a.sessionBy((*session.Host).Preview, agent, session.CLI)
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

// completeWord proposes what can follow the words of a call; space reports whether a proposal is a whole word.
func completeWord(s *session.Session, before []string, word string) (words []cobra.Completion, space bool) {
	if len(before) == 0 {
		for _, t := range s.Tools() {
			words = append(words, cobra.CompletionWithDesc(t.Name, firstSentence(t.Spec.Doc)))
		}
		return words, true
	}
	schema, err := inputOf(s, before[0])
	if err != nil || schema == nil {
		return nil, true
	}
	if name, value, found := strings.Cut(word, "="); found {
		return completeValue(schema.Properties[name], name, value, s.Policy().Workspace())
	}
	for _, name := range propertyNames(schema) {
		if !slices.ContainsFunc(before[1:], func(pair string) bool { return strings.HasPrefix(pair, name+"=") }) {
			words = append(words, cobra.CompletionWithDesc(name+"=", firstSentence(schema.Properties[name].Description)))
		}
	}
	return words, false
}

// completeValue proposes values of an argument: those that the schema names, files of the workspace for what is a path,
// and files of the working directory behind an @.
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
	if file, ok := strings.CutPrefix(value, "@"); ok && takesContents(property) {
		return filesBelow("", file, name+"=@"), false
	}
	switch claimOf(property) {
	case "", pluginpb.ClaimCommand, pluginpb.ClaimStdin, pluginpb.ClaimEnv:
		return words, true
	}
	return filesBelow(workspace, value, name+"="), false
}

// filesBelow proposes the files that a path in dir begins, each with something in front.
func filesBelow(dir, begun, front string) []cobra.Completion {
	parent, last := filepath.Split(begun)
	at := parent
	if !filepath.IsAbs(parent) {
		at = filepath.Join(dir, parent)
	}
	if at == "" {
		at = "."
	}
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
		words = append(words, front+parent+name)
	}
	return words
}
