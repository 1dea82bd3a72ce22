package setup

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/hosts"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/isolation/selftest"
)

// newConfigFile is what a new configuration looks like.
//
//go:embed config.jsonc.tmpl
var newConfigFile string

// prepared is what setting up has found and made.
type prepared struct {
	cfg       *config.Config
	workspace string
	files     []string // what was made, in that order
	isolated  error    // why isolation does not work here; nil if it does
}

// make makes what is missing.
func (o *InitOptions) make(ctx context.Context) (*prepared, error) {
	cfg, err := o.Config("")
	if err != nil {
		return nil, err
	}
	home := cfg.Home()
	if home.Fallback {
		return nil, cli.CannotStart(errors.New("there is no home directory to set up in: set PICOCLAW_HOME to an absolute directory, or HOME"))
	}
	m := &prepared{}
	if err := m.directory(home.Path); err != nil {
		return nil, cli.CannotStart(fmt.Errorf("make the home: %w; PICOCLAW_HOME names another place", err))
	}
	m.isolated = attackSandbox(ctx, home.Path)
	if cfg.File() == "" {
		if err := o.writeConfig(m, home.Path); err != nil {
			return nil, cli.CannotStart(fmt.Errorf("write a configuration into the home: %w", err))
		}
	}
	if m.cfg, err = o.Config(o.agent); err != nil {
		return nil, err
	}
	before, err := policy.PreviewPolicy(m.cfg, o.agent)
	if err != nil {
		return nil, cli.CannotStart(err)
	}
	m.workspace = before.Workspace()
	if err := m.directory(m.workspace); err != nil {
		return nil, cli.CannotStart(fmt.Errorf("make the workspace: %w; --workspace names another place", err))
	}
	return m, nil
}

// directory makes a directory that only its owner may enter, unless there is one.
func (m *prepared) directory(path string) error {
	if info, err := os.Stat(path); err == nil {
		if !info.IsDir() {
			return fmt.Errorf("%s is not a directory", path)
		}
		return nil
	}
	if target, err := os.Readlink(path); err == nil {
		return fmt.Errorf("%s is a link to %s, where nothing is", path, target)
	}
	m.files = append(m.files, path)
	return os.MkdirAll(path, 0o700)
}

func (o *InitOptions) writeConfig(m *prepared, home string) error {
	workspace := ""
	if o.Workspace != "" {
		absolute, err := filepath.Abs(o.Workspace)
		if err != nil {
			return err
		}
		workspace = absolute
	}
	layout, err := template.New("config").Funcs(template.FuncMap{"json": quoted}).Parse(newConfigFile)
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := layout.Execute(&text, map[string]any{
		"Home": home, "Workspace": workspace, "Isolated": m.isolated == nil, "Why": oneLine(m.isolated),
		"Programs": installedSources(),
	}); err != nil {
		return err
	}
	schema, err := json.MarshalIndent(config.JSONSchema(), "", "  ")
	if err != nil {
		return err
	}
	for _, file := range []struct{ name, text string }{
		{"config.schema.json", string(schema) + "\n"}, {"config.json", text.String()},
	} {
		path := filepath.Join(home, file.name)
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) && file.name != "config.json" {
			continue
		}
		if err != nil {
			return err
		}
		_, err = f.WriteString(file.text)
		if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
			return err
		}
		m.files = append(m.files, path)
	}
	return nil
}

// installedSources are the programs of this machine whose hosts network.from takes, as a list in JSON has them.
func installedSources() string {
	var found []string
	for _, key := range config.Schema() {
		if key.Name != "network.from" {
			continue
		}
		for _, name := range key.Values {
			if _, err := exec.LookPath(strings.Replace(name, "apt", "apt-get", 1)); err == nil {
				found = append(found, strconv.Quote(name))
			}
		}
	}
	return strings.Join(found, ", ")
}

func quoted(text string) (string, error) {
	out, err := json.Marshal(text)
	return string(out), err
}

func oneLine(err error) string {
	if err == nil {
		return ""
	}
	return terminal.Line(err.Error())
}

// attackSandbox builds a sandbox and attacks it from inside; the error says why there is none here that holds.
func attackSandbox(ctx context.Context, home string) error {
	command, err := hosts.SelfTestCommand()
	if err != nil {
		return err
	}
	sandbox, err := isolation.Configure(isolation.Config{Enabled: true, Home: home}, nil)
	if err != nil {
		return err
	}
	o := selftest.Options{Isolation: sandbox, Command: command, Dir: filepath.Join(home, "cache")}
	report, err := selftest.RunSelfTest(ctx, o)
	if err == nil {
		for _, broken := range report.BrokenProtections(o.TestMode(), isolation.DetectFeatures()) {
			err = errors.Join(err, fmt.Errorf("the self-test got through %s (%s)", broken.Protection, broken.Got))
		}
	}
	return errors.Join(err, sandbox.Close())
}

func (m *prepared) print(out *terminal.Out) {
	row := func(name, value, note string) {
		if note != "" {
			note = out.Paint(terminal.Faint, "  ("+note+")")
		}
		fmt.Fprintf(out, "%-11s %s%s\n", out.Paint(terminal.Bold, name+":"), value, note)
	}
	state := func(path string) string {
		for _, file := range m.files {
			if file == path {
				return "made"
			}
		}
		return "was there"
	}
	row("home", m.cfg.Home().Path, state(m.cfg.Home().Path))
	row("config", m.cfg.File(), state(m.cfg.File()))
	row("workspace", m.workspace, state(m.workspace))
	switch {
	case m.cfg.IsolationEnabled() && m.isolated == nil:
		row("isolation", out.Paint(terminal.Good, "on"), "its self-test has passed")
	case m.cfg.IsolationEnabled():
		row("isolation", out.Paint(terminal.Bad, "on, and it does not work here"), "")
		fmt.Fprintln(out, "  "+oneLine(m.isolated))
	case m.isolated == nil:
		row("isolation", out.Paint(terminal.Doubt, "off"), `it works here: set "isolation": {"enabled": true}`)
	default:
		row("isolation", out.Paint(terminal.Doubt, "off"), "")
		fmt.Fprintln(out, "  "+oneLine(m.isolated))
	}
}
