package root

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/clients"
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

func TestHelpSectionsBelongToCommands(t *testing.T) {
	root := NewRootCommand(&cli.Factory{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	for line := range strings.Lines(helpText) {
		name, isHeading := strings.CutPrefix(strings.TrimSpace(line), "== ")
		if !isHeading || name == "picoclaw" {
			continue
		}
		if cmd, _, err := root.Find(strings.Fields(name)); err != nil || cli.SubcommandPath(cmd) != name {
			t.Errorf("there is no command %s (%v)", name, err)
		}
	}
}

func TestHelpOfInitNamesClients(t *testing.T) {
	root := NewRootCommand(&cli.Factory{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	cmd, _, err := root.Find([]string{"init"})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, c := range clients.AllClients() {
		ids = append(ids, c.ID)
	}
	if !strings.HasSuffix(cmd.Long, "Clients:\n"+strings.Join(ids, ", ")+".") {
		t.Errorf("the help of init does not name the clients %s", ids)
	}
}
