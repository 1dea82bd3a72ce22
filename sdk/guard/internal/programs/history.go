package programs

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// history are the commands of bash for what was typed before: it can be added to, and run again.
func history(name string, args []shell.Field) []Use {
	var uses []Use
	for i, arg := range args {
		switch {
		case name == "history" && arg.Text == "-s":
			return append(uses, sh(strings.Join(shell.Texts(args[i+1:]), " ")))
		case name == "history" && i > 0 && (args[i-1].Text == "-r" || args[i-1].Text == "-n"):
			uses = append(uses, Use{Kind: Script, Lang: "sh", Text: arg.Text})
		case name == "history" && i > 0 && (args[i-1].Text == "-w" || args[i-1].Text == "-a"):
			uses = append(uses, Use{Kind: Write, Text: arg.Text})
		case name == "fc" && (arg.Text == "-s" || arg.Text == "-e"):
			return append(uses, sh(shell.Unknown)) // which command it was isn't followed
		}
	}
	return uses
}
