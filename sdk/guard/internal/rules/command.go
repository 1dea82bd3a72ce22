package rules

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
)

// Command is what a rule sees.
type Command struct {
	Name string   // the canonical name of the program
	Args []string // without the name
	Via  []string // the programs that start it, outermost first

	takes   *getopt.Spec // what a rule knows of the program's options
	parsed  *getopt.Args
	lowered []string
	verb    int // how many operands the verb of the rule is that is being tried
}

// New makes a command from its words.
func New(name string, args, via []string) *Command {
	return &Command{Name: name, Args: args, Via: via}
}

// options are the arguments taken apart, which many rules don't ask for.
func (c *Command) options() *getopt.Args {
	if c.parsed == nil {
		var parsed getopt.Args
		if c.takes != nil {
			parsed = c.takes.Parse(c.Args)
		} else {
			parsed = programs.ParseOptions(c.Name, c.Args)
		}
		c.parsed = &parsed
	}
	return c.parsed
}

// lower are the arguments in lower case, with one space where there is more.
func (c *Command) lower() []string {
	if c.lowered == nil {
		c.lowered = make([]string, len(c.Args))
		for i, arg := range c.Args {
			c.lowered[i] = strings.ToLower(strings.Join(strings.Fields(arg), " "))
		}
	}
	return c.lowered
}

// operand returns the first operand, or "".
func (c *Command) operand() string {
	if operands := c.options().Operands; len(operands) > 0 {
		return c.Args[operands[0]]
	}
	return ""
}
