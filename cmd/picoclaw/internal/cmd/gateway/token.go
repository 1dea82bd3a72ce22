package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/hosts"
	"github.com/picoclaw/picoclaw/host"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/policy"
)

// TokenOptions are the options of `picoclaw gateway token`.
type TokenOptions struct {
	*cli.Factory
	agent   string
	isFleet bool

	restricted bool // a restricted token is created
	dir        string
	tools      []string
	expires    string
	duration   time.Duration // parsed from expires; 0 for no expiry
}

func NewCmdToken(f *cli.Factory, runF func(*TokenOptions) error) *cobra.Command {
	o := &TokenOptions{Factory: f}
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Show an agent's token for MCP clients, or create a restricted one",
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cli.NoArguments(cmd, args); err != nil {
				return err
			}
			return o.checkRestrictions(cmd)
		},
	}
	f.AddAgentFlag(cmd, &o.agent, "the agent (default: the first one)")
	flags := cmd.Flags()
	flags.BoolVar(&o.isFleet, "fleet", false, "token of an agent of the fleet")
	flags.StringVar(&o.dir, "workspace", "", "create a token for this `directory` of the workspace")
	flags.StringSliceVar(&o.tools, "tools", nil, "create a token for these `tools`: names and globs")
	flags.StringVar(&o.expires, "expires", "", "create a token that expires after this `duration`, such as 8h")
	cmd.AddCommand(NewCmdTokenList(f, nil), NewCmdTokenRevoke(f, nil))
	return cli.SetRun(cmd, o, (*TokenOptions).printToken, runF)
}

// checkRestrictions checks the flags of a restricted token. An empty value, as of an unset variable in a script, must
// not create a wider token.
func (o *TokenOptions) checkRestrictions(cmd *cobra.Command) (err error) {
	for name, empty := range map[string]bool{"workspace": o.dir == "", "tools": len(o.tools) == 0, "expires": o.expires == ""} {
		if !cmd.Flags().Changed(name) {
			continue
		}
		if empty || o.isFleet {
			return cli.UsageErrorf("--%s: want a value, without --fleet", name)
		}
		o.restricted = true
	}
	if o.expires == "" {
		return nil
	}
	if o.duration, err = cli.ParseDuration("--expires", o.expires); err == nil && o.duration == 0 {
		err = cli.UsageErrorf("--expires %s: want more than 0", o.expires)
	}
	return err
}

func (o *TokenOptions) printToken() error {
	cfg, err := o.LoadConfig("")
	if err != nil {
		return err
	}
	if o.agent == "" || !o.isFleet {
		resolved, unknown := cfg.ResolveAgent(o.agent)
		if unknown != nil {
			return cli.UsageErrorf("%w", unknown)
		}
		o.agent = resolved.ID
	} else if !config.IsValidID(o.agent) {
		return cli.UsageErrorf("%q is no agent's id", o.agent)
	}
	var token string
	if o.restricted {
		token, err = o.createToken(cfg)
	} else {
		token, err = hosts.ReadOrCreateAgentToken(cfg.Home().Path, o.agent)
	}
	if err != nil {
		return cli.FailedError(err)
	}
	fmt.Fprintln(o.Out, token)
	return nil
}

// createToken creates a restricted token.
func (o *TokenOptions) createToken(cfg *config.Config) (string, error) {
	p, err := policy.ResolvePolicy(cfg, o.agent)
	if err != nil {
		return "", err
	}
	if p, err = p.NarrowPolicy(policy.NewRestriction(o.dir, o.tools)); err != nil {
		return "", err
	}
	t := host.ClientToken{Agent: o.agent, Within: p.Restriction()}
	if o.duration > 0 {
		t.Expires = time.Now().Add(o.duration).UTC().Truncate(time.Second)
	}
	return host.CreateClientToken(cfg.Home().Path, t)
}

func NewCmdTokenList(f *cli.Factory, runF func(*cli.CommonOptions) error) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List restricted tokens, without the tokens themselves"}
	return cli.NewCommonCommand(f, cmd, listTokens, runF, cli.WithOutput)
}

func listTokens(o *cli.CommonOptions) error {
	home, err := o.FindHome()
	if err != nil {
		return err
	}
	tokens, err := host.ListClientTokens(home)
	if o.Output == cli.JSON && err == nil {
		return o.PrintJSON(tokens)
	}
	table := terminal.NewTable("ID", "AGENT", "DIRECTORY", "TOOLS", "CREATED", "EXPIRES")
	for _, t := range tokens {
		tools := strings.Join(slices.Concat(t.Within.Tools...), ",")
		expires := "never"
		if !t.Expires.IsZero() {
			expires = t.Expires.Local().Format(time.DateTime)
		}
		if t.HasExpired() {
			expires = "expired"
		}
		table.AddRow(t.ID, t.Agent, cmp.Or(t.Within.Workspace, "all"), cmp.Or(tools, "all"),
			t.Created.Local().Format(time.DateTime), expires)
	}
	return cli.FailedError(errors.Join(table.Write(terminal.NewWriter(o.Out)), err))
}

func NewCmdTokenRevoke(f *cli.Factory, runF func(*cli.CommonOptions) error) *cobra.Command {
	cmd := &cobra.Command{Use: "revoke ID", Short: "Revoke a restricted token, and end its sessions"}
	return cli.NewCommonCommand(f, cmd, revokeToken, runF, cli.WithArgument(func(value *string) cobra.PositionalArgs {
		return cli.OneArgumentWithNoun(value, "the id of a token")
	}))
}

func revokeToken(o *cli.CommonOptions) error {
	home, err := o.FindHome()
	if err != nil {
		return err
	}
	if err := host.RevokeClientToken(home, o.Argument); err != nil {
		return cli.FailedError(err)
	}
	fmt.Fprintf(o.Out, "Token %s is revoked.\n", o.Argument)
	return nil
}
