package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// callHere runs one tool without a host: the current directory is the workspace, everything the plugin asks for is
// granted, and nothing but the guard and the workspace stands between the tool and the machine. It is for authors.
func callHere(p Plugin, name, arguments string, stdout, stderr io.Writer) error {
	logger := hclog.New(&hclog.LoggerOptions{Name: p.ID, Level: hclog.Warn, Output: stderr})
	manifest, err := p.Manifest()
	if err != nil {
		return err
	}
	s := newService(p, logger)
	tool, ok := s.tools[name]
	if !ok {
		return fmt.Errorf("no tool %q; `describe` lists them", name)
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	spec := tool.spec
	if err := tool.schemas(&spec); err != nil {
		return err
	}
	reader, _, err := spec.Arguments()
	if err != nil {
		return err
	}
	args, err := reader.Read([]byte(arguments))
	if err != nil {
		return err
	}
	env, err := newEnvironment(&pluginpb.ConfigureRequest{
		Policy: &pluginpb.Policy{
			Workspace:           dir,
			RestrictToWorkspace: true,
			Exec:                &pluginpb.ExecPolicy{EnableDenyPatterns: true, TimeoutSeconds: 60},
		},
		Grants: &pluginpb.Grants{
			Workspace: manifest.Grants.Workspace,
			Exec:      manifest.Grants.Exec,
			Network:   manifest.Grants.Network,
			State:     manifest.Grants.State,
			Env:       manifest.Grants.Env,
		},
	}, logger)
	if err != nil {
		return err
	}
	defer s.stop(context.WithoutCancel(ctx))
	result := s.run(ctx, tool, &call{arguments: args.Canonical, environment: env, emit: func(e event) {
		if e.output != nil {
			_, _ = stderr.Write(e.output)
		}
	}})
	if result.GetText() != "" {
		fmt.Fprintln(stdout, result.GetText())
	}
	if e := result.GetError(); e != nil {
		return errors.New(e.GetMessage())
	}
	return nil
}
