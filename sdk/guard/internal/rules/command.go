package rules

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
)

// RuleCommand is a command as seen by rules.
type RuleCommand struct {
	Name string   // the canonical name of the program
	Args []string // without the name
	Via  []string // the programs that start it, outermost first

	takes   *getopt.Spec // what a rule knows of the program's options
	parsed  *getopt.ParsedArgs
	lowered []string
	verb    int // how many operands the verb of the rule is that is being tried
}

// NewCommand returns a command from its words.
func NewCommand(name string, args, via []string) *RuleCommand {
	return &RuleCommand{Name: name, Args: args, Via: via}
}

// parsedOptions returns the arguments, parsed on first use.
func (c *RuleCommand) parsedOptions() *getopt.ParsedArgs {
	if c.parsed == nil {
		var parsed getopt.ParsedArgs
		if c.takes != nil {
			parsed = c.takes.ParseArgs(c.Args)
		} else {
			parsed = programs.ParseOptions(c.Name, c.Args)
		}
		c.parsed = &parsed
	}
	return c.parsed
}

// lowerArgs returns the arguments in lower case, with single spaces.
func (c *RuleCommand) lowerArgs() []string {
	if c.lowered == nil {
		c.lowered = make([]string, len(c.Args))
		for i, arg := range c.Args {
			c.lowered[i] = strings.ToLower(strings.Join(strings.Fields(arg), " "))
		}
	}
	return c.lowered
}

// firstOperand returns the first operand, or "".
func (c *RuleCommand) firstOperand() string {
	if operands := c.parsedOptions().Operands; len(operands) > 0 {
		return c.Args[operands[0]]
	}
	return ""
}
