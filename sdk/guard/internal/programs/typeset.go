package programs

import (
	"regexp"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

var (
	rpmMacro   = regexp.MustCompile(`%\(([^)]*)\)`)
	texWrite   = regexp.MustCompile(`\\(?:immediate\s*)?write\s*18\s*\{([^{}]*)\}|\\input\s*\|?"\|([^"]*)"`)
	pipeFile   = regexp.MustCompile(`%pipe%([^)\s]*(?:\s[^)]*)?)`)
	latexmkSub = regexp.MustCompile(`%[OSBTRDAPWYZ]`)
)

// typeset are the programs that make pages, and package tools, whose arguments hold commands between other text.
func typeset(name string, args []shell.Field) []Use {
	uses := unknown(args)
	for i, arg := range args {
		var pattern *regexp.Regexp
		switch {
		case strings.HasPrefix(name, "rpm"):
			pattern = rpmMacro
		case name == "gs" || name == "ghostscript":
			pattern = pipeFile
		case name == "latexmk":
			option, value, _ := strings.Cut(arg.Text, "=")
			switch {
			case option == "-e" && i+1 < len(args):
				uses = append(uses, Use{Kind: Code, Lang: "perl", Text: args[i+1].Text})
			case option == "-r" && i+1 < len(args):
				uses = append(uses, Use{Kind: Script, Lang: "perl", Text: args[i+1].Text})
			case value != "" && strings.Contains(value, "%"):
				uses = append(uses, sh(latexmkSub.ReplaceAllString(value, "")))
			}
			continue
		default:
			pattern = texWrite
		}
		for _, m := range pattern.FindAllStringSubmatch(arg.Text, -1) {
			uses = append(uses, sh(strings.Join(m[1:], "")))
		}
	}
	return uses
}
