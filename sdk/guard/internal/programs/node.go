package programs

import (
	neturl "net/url"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// separated are the arguments of Node with the options apart that share a dash, the one that takes code last: there, no code may
// stand in the same word.
func separated(args []shell.Field) []shell.Field {
	for i, arg := range args {
		letters := strings.TrimPrefix(arg.Text, "-")
		if len(letters) == len(arg.Text) && arg.Text != "" {
			return args // the script, and what it gets
		}
		if len(letters) < 2 || strings.Trim(letters, "peic") != "" || !strings.ContainsAny(letters, "pe") {
			continue
		}
		out := append([]shell.Field(nil), args[:i]...)
		for _, letter := range strings.ReplaceAll(letters, "e", "") {
			out = append(out, shell.Field{Text: "-" + string(letter)})
		}
		if strings.Contains(letters, "e") {
			out = append(out, shell.Field{Text: "-e"})
		}
		return append(out, args[i+1:]...)
	}
	return args
}

// inURL is the code that a data: URL holds.
func inURL(address string) string {
	_, code, _ := strings.Cut(address, ",")
	if unescaped, err := neturl.PathUnescape(code); err == nil {
		return unescaped
	}
	return code
}

// printing is code of Node that prints what an expression comes to. Of statements, it is the statements.
func printing(code string) string {
	if strings.ContainsAny(code, ";\n") {
		return code
	}
	return "console.log(" + code + "\n)"
}
