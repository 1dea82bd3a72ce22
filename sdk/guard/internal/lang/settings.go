package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

var (
	// cargoPrograms are settings of cargo's that name a program, with its arguments or without.
	cargoPrograms = pattern.New(`(?m)^\s*(?:[\w."'()-]+\.)?(?:rustc|rustdoc|rustc-wrapper|rustc-workspace-wrapper|runner|linker|credential-provider)\s*=\s*(.+)$`)
	// cargoInline are the same in a table on one line.
	cargoInline = pattern.New(`[{,]\s*(?:runner|linker|rustc-wrapper)\s*=\s*(\[[^\]]*\]|"[^"]*")`)
	// hookEntries is the entry of a hook of pre-commit's.
	hookEntries = pattern.New(`(?m)^[\s-]*(?:entry|rev-command|args)\s*:\s*(.+)$`)
	// npmPrograms are settings of npm's that name a program.
	npmPrograms = pattern.New(`(?m)^\s*(?:script-shell|shell|git|editor|viewer|browser)\s*=\s*(.+)$`)
	// tmuxLines are commands of tmux's in a file.
	tmuxLines = pattern.New(`(?m)^\s*((?:run|run-shell|if|if-shell|neww|new|new-window|new-session|splitw|split-window|respawn[\w-]*|popup|display-popup|pipep|pipe-pane|send|send-keys|bind|bind-key|set-hook|source|source-file)\s.*|.*(?:#\(|default-(?:command|shell)\s).*)$`)
	// rustStarts is a command that Rust starts, and rustWords what is added to it.
	rustStarts = pattern.New(`\bCommand\s*::\s*new\s*\(\s*"([^"]*)"\s*\)`)
	rustWords  = pattern.New(`^\s*\.\s*args?\s*\(`)
	rustString = pattern.New(`"((?:[^"\\]|\\.)*)"`)
)

// CargoSettings says what programs cargo's settings name.
func CargoSettings(code string) (out []Effect) {
	for _, p := range []*pattern.Pattern{cargoPrograms, cargoInline} {
		for _, m := range p.FindAllStringSubmatch(code) {
			if len(out) == maxCommands {
				return append(out, Effect{Kind: Dynamic, Text: "settings with more commands than are followed"})
			}
			out = append(out, Effect{Kind: Shell, Text: tomlCommand(m[1])})
		}
	}
	return out
}

// tomlCommand is the command that a value of TOML is: one text, or a list of words.
func tomlCommand(value string) string {
	value = strings.TrimSpace(value)
	if strings.HasPrefix(value, "[") {
		return strings.NewReplacer("[", "", "]", "", ",", " ").Replace(value)
	}
	return strings.Trim(value, `"'`)
}

// Hooks says what commands the settings of pre-commit have.
func Hooks(code string) (out []Effect) {
	for _, m := range hookEntries.FindAllStringSubmatch(code) {
		if len(out) == maxCommands {
			return append(out, Effect{Kind: Dynamic, Text: "hooks with more commands than are followed"})
		}
		if command := strings.Trim(strings.TrimSpace(m[1]), `"'`); command != "" && command[0] != '[' {
			out = append(out, Effect{Kind: Shell, Text: command})
		}
	}
	return out
}

// NpmSettings says what programs npm's settings name.
func NpmSettings(code string) []Effect { return each(npmPrograms, code) }

// Tmux says what a file of tmux's commands does.
func Tmux(code string) (out []Effect) {
	for _, e := range each(tmuxLines, code) {
		e.Text = "tmux " + e.Text
		out = append(out, e)
	}
	return out
}

// Rust says which commands Rust starts.
func Rust(code string) (out []Effect) {
	for _, at := range rustStarts.FindAllStringSubmatchIndex(code) {
		argv := []string{code[at[2]:at[3]]}
		rest := code[at[1]:]
		for m := rustWords.FindStringIndex(rest); m != nil; m = rustWords.FindStringIndex(rest) {
			arguments := bracketed(rest[m[1]-1:])
			for _, w := range rustString.FindAllStringSubmatch(arguments) {
				argv = append(argv, quotedWord(w[1]))
			}
			rest = rest[min(len(rest), m[1]+len(arguments)+1):]
		}
		out = append(out, Effect{Kind: Argv, Argv: argv})
	}
	return out
}

// quotedWord is what a string stands for.
func quotedWord(text string) string {
	word, _ := quotedText(`"`+text+`"`, '"')
	return word
}
