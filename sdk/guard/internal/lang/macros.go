package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

// m4Calls are the macros of m4 that run commands, or read files.
var m4Calls = pattern.New(`\b(?:m4_)?(syscmd|esyscmd|include|sinclude|undivert)\(`)

// m4Quotes are m4's quotes.
var m4Quotes = strings.NewReplacer("`", "", "'", "")

// M4 says what macros of m4 do.
func M4(code string) (out []Effect) {
	for _, at := range m4Calls.FindAllStringSubmatchIndex(code) {
		argument := m4Quotes.Replace(bracketed(code[at[1]-1:]))
		switch name := code[at[2]:at[3]]; {
		case strings.HasSuffix(name, "syscmd") && strings.Contains(code, "define("):
			// What other macros make of it isn't followed.
			out = append(out, Effect{Kind: Shell, Text: argument}, Effect{Kind: Dynamic, Text: "macros of m4 make a command that is only known when it runs"})
		case strings.HasSuffix(name, "syscmd"):
			out = append(out, Effect{Kind: Shell, Text: argument})
		default:
			out = append(out, Effect{Kind: Read, Text: argument})
		}
	}
	return out
}

// Roff says what requests of troff do, where it may run commands.
func Roff(code string) (out []Effect) {
	for _, line := range strings.Split(code, "\n") {
		if line == "" || line[0] != '.' && line[0] != '\'' {
			continue
		}
		request, rest, _ := strings.Cut(strings.TrimLeft(line[1:], " \t"), " ")
		switch rest = strings.TrimSpace(rest); request {
		case "sy", "pi", "pso":
			out = append(out, Effect{Kind: Shell, Text: rest})
		case "so", "mso", "trf", "cf", "hpf", "open", "opena":
			if words := strings.Fields(rest); len(words) > 0 {
				out = append(out, Effect{Kind: Path, Text: words[len(words)-1]})
			}
		}
	}
	return out
}
