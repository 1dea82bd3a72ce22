package cli

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// helpColumns is the maximum length of a line in help texts.
const helpColumns = 80

// helpEntry matches the indented name of a flag or command up to its description, or else the indentation of a line.
var helpEntry = lazyregexp.New(`^ +(-\w, +)?\S+( \S+)? {2,}|^ *`)

// wrapHelp makes the help of root and its subcommands wrap at helpColumns.
func wrapHelp(root *cobra.Command) {
	printHelp := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		paragraphs := strings.Split(cmd.Long, "\n\n")
		for i, p := range paragraphs {
			if !strings.Contains(p, "\n ") { // a list keeps its lines
				paragraphs[i] = strings.ReplaceAll(p, "\n", " ")
			}
		}
		cmd.Long = strings.Join(paragraphs, "\n\n")
		var text strings.Builder
		out := cmd.OutOrStdout()
		cmd.SetOut(&text)
		printHelp(cmd, args)
		cmd.SetOut(out)
		for line := range strings.Lines(text.String()) {
			_, _ = io.WriteString(out, wrapLine(line)) // RunCommand reports errors
		}
	})
}

// wrapLine breaks a line at helpColumns and indents the rest like its description.
func wrapLine(line string) string {
	indent := len(helpEntry().FindString(line))
	var b strings.Builder
	for len(line) > helpColumns+1 { // with its line feed
		at := strings.LastIndexByte(line[:helpColumns+1], ' ')
		if at <= indent {
			break
		}
		b.WriteString(line[:at] + "\n")
		line = strings.Repeat(" ", indent) + line[at+1:]
	}
	return b.String() + line
}
