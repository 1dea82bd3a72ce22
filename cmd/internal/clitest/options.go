package clitest

import (
	"context"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
)

// OptionsCase is a test case of [CheckParsedOptions]: a command line, and the options or the usage error that it is parsed
// into.
type OptionsCase[Options any] struct {
	Line  string  // arguments, separated by spaces
	Want  Options // without Factory
	Usage string  // part of the usage error; empty for none
}

// CheckParsedOptions parses the command line of each case and compares the resulting options or usage error.
func CheckParsedOptions[Options any](t *testing.T, newCmd func(*cli.Factory, func(*Options) error) *cobra.Command,
	lines ...OptionsCase[Options]) {
	t.Helper()
	for _, line := range lines {
		t.Run(line.Line, func(t *testing.T) {
			var got *Options
			cmd := newCmd(&cli.Factory{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, func(o *Options) error {
				got = o
				return nil
			})
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			cmd.SetArgs(strings.Fields(line.Line))
			err := cmd.Execute()
			if line.Usage != "" {
				if cli.ExitCode(err) != cli.ExitUsage || !strings.Contains(err.Error(), line.Usage) || got != nil {
					t.Fatalf("error %v, options %+v; want a usage error with %q", err, got, line.Usage)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(line.Want, *got, cmp.Exporter(func(reflect.Type) bool { return true }), cmpopts.EquateEmpty(),
				cmpopts.IgnoreTypes(&cli.Factory{}, func(context.Context) error { return nil }),
				cmpopts.IgnoreInterfaces(struct{ io.Reader }{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}
