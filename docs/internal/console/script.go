// Package console runs the terminal sessions that pages and recordings show. It parses the commands and their output,
// runs the commands in bash with an empty home, and compares the output. It knows nothing of particular commands.
package console

import (
	"regexp"
	"strings"
)

// Step is a command and the output that a page shows for it.
type Step struct {
	Command string   // may have several lines
	Want    []string // the lines shown; none if the page shows no output
}

// consoleBlock matches a terminal session on a Markdown page.
var consoleBlock = regexp.MustCompile("(?ms)^```console\n(.*?)^```$")

// ParseTerminalSteps returns the steps of all terminal sessions on a Markdown page, in order.
func ParseTerminalSteps(page string) []Step {
	var steps []Step
	for _, found := range consoleBlock.FindAllStringSubmatch(page, -1) {
		steps = append(steps, ParseSession(found[1])...)
	}
	return steps
}

// ParseSession parses a terminal session: "$ " begins a command, "> " continues it, and other lines are output.
func ParseSession(text string) []Step {
	var steps []Step
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		last := len(steps) - 1
		if command, begins := strings.CutPrefix(line, "$ "); begins {
			steps = append(steps, Step{Command: command})
		} else if last < 0 {
			continue // output before the first command
		} else if more, goesOn := strings.CutPrefix(line, "> "); goesOn && len(steps[last].Want) == 0 {
			steps[last].Command += "\n" + more
		} else {
			steps[last].Want = append(steps[last].Want, line)
		}
	}
	return steps
}
