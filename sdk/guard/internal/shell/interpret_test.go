package shell_test

import (
	"testing"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// Whatever passes the check is followed to its end.
func FuzzInterpret(f *testing.F) {
	for _, line := range harmless {
		f.Add(line)
	}
	for _, line := range bashOnly {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if shell.CheckCommandText(text) != nil {
			return
		}
		r := &recorder{}
		shell.Interpret(text, shell.InterpretOptions{Dir: "/w", Env: map[string]string{"HOME": "/h"}}, r)
	})
}

// recorder keeps the arguments of every call of args.
type recorder struct {
	calls   [][]string
	problem bool // what isn't predicted was told
}

func (r *recorder) VisitCommand(c *shell.SimpleCommand) {
	if len(c.Argv) == 0 {
		return
	}
	switch name := c.Argv[0].Text; name {
	case "args":
		r.calls = append(r.calls, shell.ArgumentTexts(c.Argv[1:]))
	case "command":
		c.Output = c.InterpretStartedCommand(name, c.Argv[1:], nil, "")
	case "bash", "sh":
		if len(c.Argv) > 2 {
			c.Output = c.InterpretCode(c.Argv[2].Text, shell.ArgumentTexts(c.Argv[3:]))
		}
	}
}
func (r *recorder) VisitPath(*shell.CommandLocation, shell.PathUse, shell.Argument) {}
func (r *recorder) VisitProblem(*shell.CommandLocation, shell.AnalysisProblem)      { r.problem = true }
