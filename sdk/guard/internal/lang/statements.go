package lang

import "github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"

var (
	// others are calls that start a command in languages that need no bracket, and methods of the command itself.
	others = pattern.New(`\b(?:Sys\.command|Unix\.(?:system|open_process\w*|execvp?e?|create_process)|callCommand|spawnCommand|readProcess\w*|readCreateProcess\w*|callProcess|spawnProcess|rawSystem|runCommand|runProcess|ProcessBuilder|Process\.(?:[Ss]tart|run|exec)|execShellCmd|execCmd(?:Ex)?|execProcess)\b\s*`)
	spoken = pattern.New(`((?:\[[^\[\]]*\]|\b(?:Seq|List|listOf|arrayOf)\s*\([^()]*\)|"\d+"))\s*(?:\.\s*(?:execute\b|lazyLines\b|lineStream\b|!)|!{1,2}\s*(?:[;)}\n]|$))`)
	// quotedWords are commands in Raku, their words between angle brackets.
	quotedWords = pattern.New(`\b(?:run|shell)\s*<\s*(\w[^<>]*)>`)
	// bangs are commands of GHC's console that start others.
	bangs = pattern.New(`(?m)^\s*:!\s*(.+)$`)
	// puppets are the commands of resources in Puppet's language.
	puppets = pattern.New(`\bexec\s*\{\s*(\[[^\]]*\]|"\d+")|\b(?:command|onlyif|unless)\s*=>\s*(\[[^\]]*\]|"\d+")`)
	// templates are the commands of zx, Bun and execa.
	templates = pattern.New(`\$(?:\.\w+)?\s*"(\d+)"`)
)

// statements finds the commands that are started by what looks like no call. It says whether there are any.
func (s *skeleton) statements(language string, out *[]Effect) bool {
	before := len(*out)
	switch language {
	case "other":
		for _, m := range others.FindAllStringIndex(s.worth(others)) {
			*out = append(*out, s.command(s.region(m[1])))
		}
		for _, m := range bangs.FindAllStringSubmatch(s.worth(bangs)) {
			*out = append(*out, Effect{Kind: Shell, Text: s.expand(m[1])})
		}
		for _, m := range quotedWords.FindAllStringSubmatch(s.worth(quotedWords)) {
			*out = append(*out, Effect{Kind: Shell, Text: s.expand(m[1])})
		}
		for _, m := range spoken.FindAllStringSubmatch(s.worth(spoken)) {
			*out = append(*out, s.command(m[1]))
		}
	case "puppet":
		for _, m := range puppets.FindAllStringSubmatch(s.worth(puppets)) {
			for _, l := range s.referenced(m[1] + m[2]) {
				*out = append(*out, Effect{Kind: Shell, Text: l.text})
			}
		}
	case "node":
		for _, m := range templates.FindAllStringSubmatch(s.worth(templates)) {
			if l := s.referenced(`"` + m[1] + `"`); l[0].template && l[0].tick {
				*out = append(*out, Effect{Kind: Shell, Text: l[0].text})
			}
		}
	}
	return len(*out) > before
}
