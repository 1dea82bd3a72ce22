package root

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
)

// Every command says what it does, shows how, and describes its flags.
func TestEveryCommandHelps(t *testing.T) {
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		if cmd.Short == "" || cmd.Example == "" {
			t.Errorf("%s has no short description, or no example", cmd.CommandPath())
		}
		if !strings.Contains(cmd.Example, "picoclaw") {
			t.Errorf("the example of %s is %q", cmd.CommandPath(), cmd.Example)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("--%s of %s is not described", f.Name, cmd.CommandPath())
			}
		})
		var help strings.Builder
		cmd.SetOut(&help)
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(help.String() + cmd.Example) {
			if len(line) > 81 {
				t.Errorf("the help of %s has %d columns: %s", cmd.CommandPath(), len(line)-1, line)
			}
		}
		for _, sub := range cmd.Commands() {
			look(sub)
		}
	}
	look(NewRootCommand(&cli.Factory{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}))
}
