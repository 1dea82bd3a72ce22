package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/terminal"
	"github.com/picoclaw/picoclaw/host/session"
)

// isPath tells a path from a tool's name, which has no slash.
func isPath(arg string) bool { return strings.Contains(arg, "/") || arg == "." || arg == ".." }

// pathMeant is the path that was meant by a name that no tool has, as it has to be written: that of a file in the
// workspace, where relative paths start, or else in the current directory; "" if there is none.
func pathMeant(s *session.Session, args []string) string {
	if len(args) != 1 || !filepath.IsLocal(args[0]) {
		return ""
	}
	if _, err := os.Lstat(filepath.Join(s.Policy().Workspace(), args[0])); err == nil {
		return "./" + args[0]
	}
	if _, err := os.Lstat(args[0]); err == nil {
		absolute, _ := filepath.Abs(args[0]) // "" if there is no current directory
		return absolute
	}
	return ""
}

// explainPath shows which of the walls would let a path through.
func (a *app) explainPath(s *session.Session, args []string, output outputFormat) error {
	if len(args) > 1 {
		return usage("explain %s takes no argument %q: to explain a call, name the tool first", args[0], args[1])
	}
	walls, err := s.ExplainPath(args[0])
	if err != nil {
		return failed(err)
	}
	if output == jsonOutput {
		return a.printJSON(map[string]any{"path": args[0], "walls": walls})
	}
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WALL\tREAD\tWRITE\tWHY")
	for _, w := range walls {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", terminal.Line(w.Wall), yesNo(w.Read), yesNo(w.Write), terminal.Line(w.Why))
	}
	return table.Flush()
}

// explainHost says whether processes that have the network reach a host.
func (a *app) explainHost(s *session.Session, args []string, output outputFormat) error {
	if len(args) != 1 {
		return usage("explain network takes one host, such as api.example.com or files.example.net:8443")
	}
	decision, err := s.ExplainHost(args[0])
	if err != nil {
		return failed(err)
	}
	return a.showDecision(newExplanation(decision, nil), output)
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
