package session

import (
	"context"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/egress"
	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/isolation"
)

// Apart is a program that an operator has run in a sandbox with nothing of an agent's, such as one that is to be looked
// at before it becomes a plugin.
type Apart struct {
	Name string // in messages
	// Command is what is run. Its standard streams are files, Env is its whole environment but for what the network takes.
	Command             *exec.Cmd
	ReadOnly, ReadWrite []string // existing paths that it sees besides the system's
	Hosts               []string // that it reaches, as in network.allow; none if empty
	From                []string // programs whose hosts it reaches besides, as in network.from
	Secrets             []string // of the operator's that it may use without seeing them
}

// RunApart runs a program in a sandbox, whatever the configuration says of isolation, until it ends or ctx is done. It
// may use what a command may, and so much of the disk. A program that fails is an *isolation.ExitError.
func (s *Session) RunApart(ctx context.Context, a Apart) error {
	iso, err := isolation.Configure(isolation.Config{
		Enabled: true, Home: s.policy.Home(), Groups: true,
	}, s.host.logger.Named("isolation"))
	if err != nil {
		return err
	}
	defer func() { _ = iso.Close() }()
	bounds := s.policy.Limits().Exec
	bounds.CPU, bounds.Memory = 0, boundedMemory(bounds) // ctx bounds its time
	profile := isolation.Profile{
		Name: a.Name, ReadOnly: a.ReadOnly, ReadWrite: a.ReadWrite, Exec: true,
		Limits: bounds, Group: group(bounds),
	}
	cmd := *a.Command
	var n *network
	if len(a.Hosts)+len(a.From) > 0 {
		if n, err = s.apartNetwork(a); err != nil {
			return err
		}
		env, err := n.give(&profile)
		if err != nil {
			return err
		}
		cmd.Env = slices.Concat(cmd.Env, env)
	}
	ctx, done := watchDisk(ctx, a.ReadWrite)
	defer done()
	reaching := n.watchCall(ctx, s, nil)
	err = iso.Run(ctx, &cmd, profile)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if refused := n.endWatch(reaching); err != nil && len(refused) > 0 {
		err = fmt.Errorf("%w\n%s", err, strings.Join(refused, "\n"))
	}
	return err
}

// How much a program that is run apart may leave in its directories. No limit of the kernel's says that, so they are
// looked at every so often: for a moment there may be more.
const (
	mostOnDisk = 2 << 30 // bytes
	mostFiles  = 200_000
	diskEvery  = 250 * time.Millisecond
)

// watchDisk returns a context that is done with a cause when there is too much in directories. done ends the watching.
func watchDisk(ctx context.Context, dirs []string) (watched context.Context, done func()) {
	watched, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(diskEvery)
		defer tick.Stop()
		for {
			select {
			case <-watched.Done():
				return
			case <-tick.C:
			}
			if err := onDisk(watched, dirs); err != nil {
				cancel(err)
			}
		}
	}()
	return watched, func() { cancel(nil); <-ended }
}

// onDisk says that there is too much in directories, if there is.
func onDisk(ctx context.Context, dirs []string) error {
	files, size := 0, int64(0)
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
			if err != nil {
				return nil //nolint:nilerr // it was removed meanwhile, or is not to be looked at
			}
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				size += info.Size()
			}
			switch files++; {
			case files > mostFiles:
				return fmt.Errorf("it was ended: it made more than %d files", mostFiles)
			case size > mostOnDisk:
				return fmt.Errorf("it was ended: it wrote more than %d MB", mostOnDisk>>20)
			}
			return ctx.Err()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// apartNetwork is what a program reaches that is run apart. It is no call's, so nothing of it is recorded.
func (s *Session) apartNetwork(a Apart) (*network, error) {
	rules := policy.Network{Rules: egress.Rules{Allow: a.Hosts}, From: a.From}
	if own := s.policy.Network(); own != nil {
		rules.Hosts = own.Hosts // addresses that the operator has given names
	}
	n := &network{session: s, log: reachedLog{write: func(audit.Record) error { return nil }, fail: func(error) {}}}
	var err error
	if n.policy, err = s.host.compiled(&rules, ""); err != nil {
		return nil, fmt.Errorf("the hosts of %s: %w", a.Name, err)
	}
	if n.secrets, err = secretsOf(s.policy.Secrets(), a.Secrets); err != nil {
		return nil, err
	}
	if len(n.secrets) > 0 {
		if n.authority, err = egress.NewAuthority(); err != nil {
			return nil, err
		}
	}
	n.name = filepath.Base(a.Name) + "-apart"
	return n, nil
}
