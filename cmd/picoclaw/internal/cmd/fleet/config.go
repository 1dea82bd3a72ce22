package fleet

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"aead.dev/minisign"
	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/fleet/bundle"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
)

// ConfigOptions are the options of the commands of `picoclaw fleet config`.
type ConfigOptions struct {
	*cli.Factory
	source     string // the configuration file to push
	file, key  string
	serial     uint64
	connection *nats.Conn
	id         *identity.Identity
}

func NewCmdConfig(f *cli.Factory) *cobra.Command {
	return cli.NewGroupCommand(&cobra.Command{
		Use:   "config",
		Short: "Manage the shared configuration of a fleet",
	}, NewCmdConfigPush(f, nil), NewCmdConfigRollback(f, nil), NewCmdConfigShow(f, nil))
}

func (o *ConfigOptions) addFlags(cmd *cobra.Command, signs bool) {
	cmd.Flags().StringVar(&o.file, "fleet", "", "identity `file` of an admin (picoclaw hub add admin)")
	if signs {
		cmd.Flags().StringVar(&o.key, "key", "", "minisign secret key `file`; the password is read from the terminal or standard input")
	}
}

// connectAdmin connects to the fleet as an admin.
func (o *ConfigOptions) connectAdmin() error {
	if o.file == "" {
		return cli.UsageErrorf("--fleet is missing: the identity file that `picoclaw hub add admin NAME` has written")
	}
	var err error
	o.connection, o.id, err = identity.Connect(o.file)
	if err != nil {
		return cli.FailedError(err)
	}
	if o.id.Role != identity.Admin {
		o.connection.Close()
		return cli.FailedError(fmt.Errorf("%s is a %s's, and an admin's is needed: `picoclaw hub add admin NAME`", o.file, o.id.Role))
	}
	return nil
}

func NewCmdConfigPush(f *cli.Factory, runF func(*ConfigOptions) error) *cobra.Command {
	o := &ConfigOptions{Factory: f}
	cmd := &cobra.Command{
		Use:   "push FILE",
		Short: "Publish a configuration to the fleet",
		Args:  cli.OneArgumentWithNoun(&o.source, "the name of one configuration file"),
	}
	o.addFlags(cmd, true)
	return cli.SetRunContext(cmd, o, (*ConfigOptions).pushConfig, runF)
}

func (o *ConfigOptions) pushConfig(ctx context.Context) error {
	file := o.source
	text, err := os.ReadFile(file)
	if err != nil {
		return cli.FailedError(err)
	}
	if err = checkCentralConfig(file); err != nil {
		return cli.FailedError(err)
	}
	if err = o.connectAdmin(); err != nil {
		return err
	}
	defer o.connection.Close()
	b := &bundle.Bundle{Config: text}
	if o.key == "" {
		b.Signature, err = os.ReadFile(file + ".minisig")
		if errors.Is(err, fs.ErrNotExist) {
			return cli.FailedError(fmt.Errorf("%s is not signed: name the key with --key, or have %s.minisig beside it", file, file))
		}
		if err != nil {
			return cli.FailedError(err)
		}
		return o.publishBundle(ctx, b)
	}
	history, err := bundle.History(ctx, o.connection)
	if err != nil {
		return cli.FailedError(err)
	}
	key, err := o.readSecretKey()
	if err != nil {
		return cli.FailedError(err)
	}
	return o.publishBundle(ctx, bundle.Sign(key, text, o.id.Tenant, bundle.Next(history)))
}

// checkCentralConfig checks a configuration as it applies to a machine without its own.
func checkCentralConfig(file string) error {
	named, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	home, err := os.MkdirTemp("", "picoclaw-config-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(home) }()
	return bundle.Check(config.LoadOptions{Central: named, Environ: []string{"HOME=" + home, "PICOCLAW_HOME=" + home}})
}

func (o *ConfigOptions) publishBundle(ctx context.Context, b *bundle.Bundle) error {
	tenant, serial, err := b.Serial()
	if err != nil {
		return cli.FailedError(err)
	}
	if tenant != o.id.Tenant {
		return cli.FailedError(fmt.Errorf("it was signed for tenant %s, and %s is of tenant %s", tenant, o.file, o.id.Tenant))
	}
	if err := bundle.Push(ctx, o.connection, b); err != nil {
		return cli.FailedError(err)
	}
	fmt.Fprintf(o.Out, "the fleet has configuration %d\n", serial)
	return nil
}

// readSecretKey reads the key to sign with.
func (o *ConfigOptions) readSecretKey() (minisign.PrivateKey, error) {
	text, err := os.ReadFile(o.key)
	if err != nil {
		return minisign.PrivateKey{}, err
	}
	var key minisign.PrivateKey
	if !minisign.IsEncrypted(text) {
		if err = key.UnmarshalText(text); err != nil {
			return key, fmt.Errorf("%s is no secret key of minisign's: %w", o.key, err)
		}
		return key, nil
	}
	password, err := o.readPassword()
	if err != nil {
		return key, err
	}
	if key, err = minisign.DecryptKey(password, text); err != nil {
		return key, fmt.Errorf("%s can't be used: %w; is the password right?", o.key, err)
	}
	return key, nil
}

func (o *ConfigOptions) readPassword() (string, error) {
	if f, ok := o.In.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprintf(o.Err, "password of %s: ", o.key)
		text, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(o.Err)
		return string(text), err
	}
	line, err := bufio.NewReader(o.In).ReadString('\n')
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", errors.Join(errors.New("the key's password is wanted on standard input"), err)
	}
	return line, nil
}

func NewCmdConfigRollback(f *cli.Factory, runF func(*ConfigOptions) error) *cobra.Command {
	o := &ConfigOptions{Factory: f}
	cmd := &cobra.Command{
		Use:   "rollback",
		Short: "Publish an earlier configuration again",
	}
	o.addFlags(cmd, true)
	cmd.Flags().Uint64Var(&o.serial, "to", 0, "serial `number` to restore (default: the one before the latest)")
	return cli.SetRunContext(cmd, o, (*ConfigOptions).rollbackConfig, runF)
}

func (o *ConfigOptions) rollbackConfig(ctx context.Context) error {
	if o.key == "" {
		return cli.UsageErrorf("--key is missing: a rollback is signed again")
	}
	if err := o.connectAdmin(); err != nil {
		return err
	}
	defer o.connection.Close()
	history, err := bundle.History(ctx, o.connection)
	if err != nil {
		return cli.FailedError(err)
	}
	key, err := o.readSecretKey()
	if err != nil {
		return cli.FailedError(err)
	}
	public, ok := key.Public().(minisign.PublicKey)
	if !ok {
		return cli.FailedError(fmt.Errorf("%s has no public half", o.key))
	}
	back, number, err := bundle.Before(history, o.serial, public, o.id.Tenant)
	if err != nil {
		return cli.FailedError(err)
	}
	if err := o.publishBundle(ctx, bundle.Sign(key, back.Config, o.id.Tenant, bundle.Next(history))); err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "it is configuration %d again\n", number)
	return nil
}

func NewCmdConfigShow(f *cli.Factory, runF func(*ConfigOptions) error) *cobra.Command {
	o := &ConfigOptions{Factory: f}
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the fleet's configurations",
	}
	o.addFlags(cmd, false)
	cmd.Flags().Uint64Var(&o.serial, "serial", 0, "serial `number` of the configuration (default: the latest)")
	return cli.SetRunContext(cmd, o, (*ConfigOptions).showConfigs, runF)
}

func (o *ConfigOptions) showConfigs(ctx context.Context) error {
	if err := o.connectAdmin(); err != nil {
		return err
	}
	defer o.connection.Close()
	history, err := bundle.History(ctx, o.connection)
	if err != nil {
		return cli.FailedError(err)
	}
	if o.serial != 0 {
		b, err := bundle.Find(history, o.serial)
		if err != nil {
			return cli.FailedError(err)
		}
		_, err = o.Out.Write(b.Config)
		return err
	}
	w := tabwriter.NewWriter(terminal.NewWriter(o.Out), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NUMBER\tKEY\tBYTES")
	for _, b := range history {
		var s minisign.Signature
		if _, serial, err := b.Serial(); err == nil && s.UnmarshalText(b.Signature) == nil {
			fmt.Fprintf(w, "%d\t%016X\t%d\n", serial, s.KeyID, len(b.Config))
		}
	}
	return w.Flush()
}
