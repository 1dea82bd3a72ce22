package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/install"
	"github.com/picoclaw/picoclaw/host/login"
	"github.com/picoclaw/picoclaw/internal/smallfile"
)

// loginFlags are the flags of commands that sign in to a remote server.
type loginFlags struct {
	options    login.Options
	secretFile string
}

func (o *loginFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.options.ClientID, "client-id", "", "`ID` of a client that is registered at the server (default: register one)")
	flags.StringVar(&o.secretFile, "client-secret-file", "", "`FILE` with the client's secret")
	flags.StringSliceVar(&o.options.Scopes, "scope", nil, "additional `SCOPES` to request at a login")
	flags.IntVar(&o.options.CallbackPort, "callback-port", 0, "`PORT` of 127.0.0.1 that the browser returns to (default: any)")
	flags.BoolVar(&o.options.Device, "device", false, "show a login code to enter in a browser on any machine")
}

// maxSecretBytes limits the file with a client's secret.
const maxSecretBytes = 64 << 10

// signIn signs in to a server at a URL. It reports whether the server requests it.
func (o *loginFlags) signIn(ctx context.Context, f *cli.Factory, s *install.PluginInventory, name, url string) (bool, error) {
	if o.secretFile != "" {
		secret, err := smallfile.Read(o.secretFile, maxSecretBytes)
		if err != nil {
			return true, cli.UsageErrorf("--client-secret-file: %v", err)
		}
		o.options.ClientSecret = strings.TrimSpace(string(secret))
	}
	out := terminal.NewWriter(f.Err)
	o.options.Show = func(page, code string) {
		fmt.Fprintf(out, "Sign in to %s at\n  %s\n", name, terminal.CleanLine(page))
		if code != "" {
			fmt.Fprintf(out, "with the code %s\n", terminal.CleanLine(code))
			return
		}
		if openBrowser(ctx, page) != nil {
			fmt.Fprintln(out, "The browser must be on this machine; --device signs in from another one.")
		}
	}
	requested, err := login.SignIn(ctx, s.Config.Home().Path, name, url, o.options)
	if err != nil {
		err = cli.FailedError(err)
	}
	return requested, err
}

// openBrowser opens a page in the user's browser.
func openBrowser(ctx context.Context, page string) error {
	program, args := os.Getenv("BROWSER"), []string(nil)
	switch {
	case program != "":
	case runtime.GOOS == "darwin":
		program = "open"
	case runtime.GOOS == "windows":
		program, args = "rundll32", []string{"url.dll,FileProtocolHandler"}
	case os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != "":
		program = "xdg-open"
	default:
		return errors.New("there is no browser")
	}
	cmd := exec.CommandContext(ctx, program, append(args, page)...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	return nil
}

// LoginOptions are the options of `picoclaw mcp login`.
type LoginOptions struct {
	*cli.Factory
	name  string
	login loginFlags
}

func NewCmdLogin(f *cli.Factory, runF func(*LoginOptions) error) *cobra.Command {
	o := &LoginOptions{Factory: f}
	cmd := &cobra.Command{
		Use:               "login NAME",
		Short:             "Sign in to a remote MCP server",
		Args:              oneServerArgument(&o.name),
		ValidArgsFunction: completeServers(f),
	}
	o.login.addFlags(cmd)
	return cli.SetRunContext(cmd, o, (*LoginOptions).signIn, runF)
}

func (o *LoginOptions) signIn(ctx context.Context) error {
	s, err := install.OpenPluginInventory(o.Factory)
	if err != nil {
		return err
	}
	url := s.Config.MCPServers()[o.name].URL
	if _, configured := s.Config.MCPServers()[o.name]; !configured {
		pin, findErr := findServerLockEntry(s, o.name)
		if findErr != nil {
			return findErr
		}
		spec, findErr := s.ApprovedSpec(o.name, &pin.PluginVersion)
		if findErr != nil {
			return cli.FailedError(findErr)
		}
		url = spec.URL
	}
	if url == "" {
		return cli.FailedError(fmt.Errorf("the server %s is a program, not a remote server; pass credentials to it with --env or --secret", o.name))
	}
	requested, err := o.login.signIn(ctx, o.Factory, s, o.name, url)
	switch {
	case err != nil:
		return err
	case !requested:
		return cli.FailedError(fmt.Errorf("%s does not request a login", url))
	}
	fmt.Fprintf(o.Out, "signed in to %s; a running gateway uses a first login after `picoclaw gateway reload`\n", o.name)
	return nil
}

// LogoutOptions are the options of `picoclaw mcp logout`.
type LogoutOptions struct {
	*cli.Factory
	name string
}

func NewCmdLogout(f *cli.Factory, runF func(*LogoutOptions) error) *cobra.Command {
	o := &LogoutOptions{Factory: f}
	cmd := &cobra.Command{
		Use:               "logout NAME",
		Short:             "Remove the login at a remote MCP server",
		Args:              oneServerArgument(&o.name),
		ValidArgsFunction: completeServers(f),
	}
	return cli.SetRun(cmd, o, (*LogoutOptions).removeLogin, runF)
}

func (o *LogoutOptions) removeLogin() error {
	home, err := o.FindHome()
	if err != nil {
		return err
	}
	removed, err := login.RemoveLogin(home, o.name)
	switch {
	case err != nil:
		return cli.FailedError(err)
	case !removed:
		return cli.FailedError(fmt.Errorf("there is no login at the server %s", o.name))
	}
	fmt.Fprintf(o.Out, "the login at %s is removed; the server may accept its token until it expires\n", o.name)
	return nil
}
