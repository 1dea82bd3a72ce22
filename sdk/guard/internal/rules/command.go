package rules

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
)

// RuleCommand is a simple command to which rules are applied.
type RuleCommand struct {
	Name string   // the canonical name of the program
	Args []string // without the name
	Via  []string // programs that start it, outermost first

	takes   *getopt.OptionSet // options with values that rules add for the program
	parsed  *getopt.ParsedArgs
	lowered []string
	verb    int // number of operands that match the verb of the current rule
}

// NewRuleCommand returns a command with the given words.
func NewRuleCommand(name string, args, via []string) *RuleCommand {
	return &RuleCommand{Name: name, Args: args, Via: via}
}

// parsedOptions returns the options and operands. It parses them on first use.
func (c *RuleCommand) parsedOptions() *getopt.ParsedArgs {
	if c.parsed == nil {
		var parsed getopt.ParsedArgs
		if c.takes != nil {
			parsed = c.takes.ParseArgs(c.Args)
		} else {
			parsed = programs.ParseArguments(c.Name, c.Args)
		}
		c.parsed = &parsed
	}
	return c.parsed
}

// normalizedArgs returns the arguments in lower case, with single spaces.
func (c *RuleCommand) normalizedArgs() []string {
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
