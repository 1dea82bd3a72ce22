package cli

import (
	"context"

	"github.com/spf13/cobra"
)

// CommonOptions are the options of commands that need no others.
type CommonOptions struct {
	*Factory
	Argument string       // the positional argument
	Agent    string       // --agent
	Output   OutputFormat // --output
}

// CommonOption adds one of the common options to a command.
type CommonOption func(o *CommonOptions, cmd *cobra.Command)

// WithOutput adds --output.
func WithOutput(o *CommonOptions, cmd *cobra.Command) { o.AddOutputFlag(cmd, &o.Output) }

// WithAgent adds --agent.
func WithAgent(doc string) CommonOption {
	return func(o *CommonOptions, cmd *cobra.Command) { o.AddAgentFlag(cmd, &o.Agent, doc) }
}

// WithArgument adds a positional argument, which check stores.
func WithArgument(check func(value *string) cobra.PositionalArgs) CommonOption {
	return func(o *CommonOptions, cmd *cobra.Command) { cmd.Args = check(&o.Argument) }
}

// NewCommonCommand returns cmd with common options. It calls run, as SetRun describes.
func NewCommonCommand(f *Factory, cmd *cobra.Command, run, runF func(*CommonOptions) error, options ...CommonOption) *cobra.Command {
	return NewCommonContextCommand(f, cmd, func(o *CommonOptions, _ context.Context) error { return run(o) }, runF, options...)
}

// NewCommonContextCommand is like NewCommonCommand for a run with the context of the command.
func NewCommonContextCommand(f *Factory, cmd *cobra.Command, run func(*CommonOptions, context.Context) error,
	runF func(*CommonOptions) error, options ...CommonOption) *cobra.Command {
	o := &CommonOptions{Factory: f}
	for _, add := range options {
		add(o, cmd)
	}
	return SetRunContext(cmd, o, run, runF)
}

// SetRun makes cmd call run with o, and returns cmd. cmd takes no arguments unless Args is set. If runF is not nil, as in
// tests, it replaces run and receives o, filled from flags and positional arguments.
func SetRun[Options any](cmd *cobra.Command, o *Options, run, runF func(*Options) error) *cobra.Command {
	return SetRunContext(cmd, o, func(o *Options, _ context.Context) error { return run(o) }, runF)
}

// SetRunContext is like SetRun for a run with the context of the command.
func SetRunContext[Options any](cmd *cobra.Command, o *Options, run func(*Options, context.Context) error,
	runF func(*Options) error) *cobra.Command {
	if cmd.Args == nil {
		cmd.Args = NoArguments
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return run(o, cmd.Context()) }
	return OverrideRunFunc(cmd, o, runF)
}

// OverrideRunFunc returns cmd. If runF is not nil, as in tests, it replaces cmd's RunE and receives o, filled from
// flags and positional arguments.
func OverrideRunFunc[Options any](cmd *cobra.Command, o *Options, runF func(*Options) error) *cobra.Command {
	if runF != nil {
		cmd.RunE = func(*cobra.Command, []string) error { return runF(o) }
	}
	return cmd
}
