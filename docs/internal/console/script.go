// Package console plays what pages and recordings show as typed into a terminal: it finds the commands and the output
// that is shown for them, runs the commands by bash in a home of their own, and compares. It must not know what the
// commands are for.
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

// block is a piece of a Markdown page that is shown as a conversation with a terminal.
var block = regexp.MustCompile("(?ms)^```console\n(.*?)^```$")

// Blocks returns the steps of all conversations on a Markdown page, in their order.
func Blocks(page string) []Step {
	var steps []Step
	for _, found := range block.FindAllStringSubmatch(page, -1) {
		steps = append(steps, Parse(found[1])...)
	}
	return steps
}

// Parse reads a conversation: "$ " begins a command, "> " goes on with it, and everything else is output.
func Parse(text string) []Step {
	var steps []Step
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		last := len(steps) - 1
		if command, begins := strings.CutPrefix(line, "$ "); begins {
			steps = append(steps, Step{Command: command})
		} else if last < 0 {
			continue // nobody has said anything yet
		} else if more, goesOn := strings.CutPrefix(line, "> "); goesOn && len(steps[last].Want) == 0 {
			steps[last].Command += "\n" + more
		} else {
			steps[last].Want = append(steps[last].Want, line)
		}
	}
	return steps
}
