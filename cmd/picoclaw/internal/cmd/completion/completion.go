// Package completion has the command completion.
package completion

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
)

// completionGenerators returns the functions that print completion scripts, by name of the shell.
func completionGenerators() map[string]func(root *cobra.Command, w io.Writer) error {
	return map[string]func(*cobra.Command, io.Writer) error{
		"bash":       printBashCompletion,
		"zsh":        func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) },
		"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
		"powershell": func(root *cobra.Command, w io.Writer) error { return root.GenPowerShellCompletionWithDesc(w) },
	}
}

// Options are the options of `picoclaw completion`.
type Options struct {
	*cli.Factory
	shell string
}

func NewCmdCompletion(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	o := &Options{Factory: f}
	names := []string{"bash", "zsh", "fish", "powershell"}
	return cli.OverrideRunFunc(&cobra.Command{
		Use:       "completion SHELL",
		Short:     "Print a shell completion script",
		ValidArgs: names,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || completionGenerators()[args[0]] == nil {
				return cli.UsageErrorf("name the shell: %s", strings.Join(names, ", "))
			}
			o.shell = args[0]
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return completionGenerators()[o.shell](cmd.Root(), f.Out) },
	}, o, runF)
}

// printBashCompletion prints cobra's script, changed because bash completes only the part of key=value after the =.
func printBashCompletion(root *cobra.Command, w io.Writer) error {
	var script bytes.Buffer
	if err := root.GenBashCompletionV2(&script, true); err != nil {
		return err
	}
	name := root.Name()
	_, err := fmt.Fprintf(w, `%[2]s
__%[1]s_after_equals()
{
    __start_%[1]s "$@"
    local line="${COMP_LINE:0:COMP_POINT}"
    local word="${line##*[[:space:]]}"
    if [[ $COMP_WORDBREAKS == *=* && $word == [^-]*=* ]]; then
        COMPREPLY=("${COMPREPLY[@]#"${word%%"${word##*=}"}"}")
    fi
}
complete -o default -F __%[1]s_after_equals %[1]s
`, name, script.String())
	return err
}
