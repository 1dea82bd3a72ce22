package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/picoclaw/picoclaw/host"
)

// isPath tells a path from a tool's name, which has no slash.
func isPath(arg string) bool { return strings.Contains(arg, "/") || arg == "." || arg == ".." }

// explainPath shows which of the walls would let a path through.
func (a *app) explainPath(s *host.Session, args []string, output string) error {
	if len(args) > 1 {
		return usage("explain %s takes no argument %q: to explain a call, name the tool first", args[0], args[1])
	}
	walls, err := s.ExplainPath(args[0])
	if err != nil {
		return &failure{code: exitFailed, err: err}
	}
	if output == "json" {
		return a.printJSON(map[string]any{"path": args[0], "walls": walls})
	}
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WALL\tREAD\tWRITE\tWHY")
	for _, w := range walls {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", w.Wall, yesNo(w.Read), yesNo(w.Write), strings.ReplaceAll(w.Why, "\n", " "))
	}
	return table.Flush()
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
