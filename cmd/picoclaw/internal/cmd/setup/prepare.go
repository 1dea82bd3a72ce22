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
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/hosts"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/killswitch"
	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/atomicfile"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/isolation/selftest"
)

// configTemplate is the template of a new configuration file.
//
//go:embed config.jsonc.tmpl
var configTemplate string

// initResult is the state after init: the configuration, the created files and the result of the self-test.
type initResult struct {
	cfg          *config.Config
	workspace    string
	created      []string // created files, in this order
	isolationErr error    // why isolation does not work here; nil if it does
}

// prepareHome creates the home, the configuration and the workspace, unless they exist.
func (o *InitOptions) prepareHome(ctx context.Context) (*initResult, error) {
	cfg, err := o.LoadConfig("")
	if err != nil {
		return nil, err
	}
	home := cfg.Home()
	if home.Fallback {
		return nil, cli.StartError(errors.New("there is no home directory; set PICOCLAW_HOME or HOME to an absolute directory"))
	}
	m := &initResult{}
	if err = m.createDir(home.Path); err != nil {
		return nil, cli.StartError(fmt.Errorf("create the home: %w; PICOCLAW_HOME names another directory", err))
	}
	if err = killswitch.CreateStopFile(home.Path); err != nil {
		return nil, cli.StartError(err)
	}
	m.isolationErr = testSandbox(ctx, home.Path)
	isNew := cfg.FilePath() == ""
	if isNew {
		if err = o.writeConfig(m, home.Path); err != nil {
			return nil, cli.StartError(fmt.Errorf("write the configuration: %w", err))
		}
	}
	if m.cfg, err = o.LoadConfig(o.agent); err != nil {
		return nil, err
	}
	preview, err := policy.PreviewPolicy(m.cfg, o.agent)
	if err != nil {
		return nil, cli.StartError(err)
	}
	m.workspace = preview.WorkspacePath()
	if err := m.createDir(m.workspace); err != nil {
		return nil, cli.StartError(fmt.Errorf("create the workspace: %w; --workspace names another directory", err))
	}
	if isNew && !o.canUndoDeletes() {
		text, err := o.renderConfig(m, home.Path, false)
		if err == nil {
			err = os.WriteFile(filepath.Join(home.Path, configName), []byte(text), 0o600)
		}
		if err != nil {
			return nil, cli.StartError(fmt.Errorf("write the configuration: %w", err))
		}
	}
	return m, nil
}

// canUndoDeletes reports whether undo, with the current configuration, restores files that an agent's command deletes.
func (o *InitOptions) canUndoDeletes() bool {
	s, _, done, err := hosts.OpenSessionWith(o.Factory, (*session.Host).OpenPreviewSession, o.agent, session.CLI)
	if err != nil {
		return false
	}
	defer done()
	d, e := s.ExplainCall("exec", json.RawMessage(`{"command":"rm -rf build"}`))
	return e == nil && len(d.Softened) > 0
}

// createDir creates a directory that only its owner may enter, unless it exists.
func (m *initResult) createDir(path string) error {
	if info, err := os.Stat(path); err == nil {
		if !info.IsDir() {
			return fmt.Errorf("%s is not a directory", path)
		}
		return nil
	}
	if target, err := os.Readlink(path); err == nil {
		return fmt.Errorf("%s is a symlink to %s, which does not exist", path, target)
	}
	m.created = append(m.created, path)
	return os.MkdirAll(path, 0o700)
}

// configName is the file name of the configuration.
const configName = "config.json"

// renderConfig returns the text of a new configuration file.
func (o *InitOptions) renderConfig(m *initResult, home string, undoable bool) (string, error) {
	workspace := ""
	if o.Workspace != "" {
		absolute, err := filepath.Abs(o.Workspace)
		if err != nil {
			return "", err
		}
		workspace = absolute
	}
	layout, err := template.New("config").Funcs(template.FuncMap{"json": quoteJSON}).Parse(configTemplate)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	err = layout.Execute(&text, map[string]any{
		"Home": home, "Workspace": workspace, "Isolated": m.isolationErr == nil, "Why": formatErrorLine(m.isolationErr),
		"Programs": detectPackageManagers(), "Undoable": undoable,
	})
	return text.String(), err
}

func (o *InitOptions) writeConfig(m *initResult, home string) error {
	text, err := o.renderConfig(m, home, true)
	if err != nil {
		return err
	}
	schema, err := json.MarshalIndent(config.JSONSchema(), "", "  ")
	if err != nil {
		return err
	}
	for _, file := range []struct{ name, text string }{
		{"config.schema.json", string(schema) + "\n"}, {configName, text},
	} {
		path := filepath.Join(home, file.name)
		err := atomicfile.WriteNewFile(path, []byte(file.text), 0o600)
		if errors.Is(err, fs.ErrExist) && file.name != configName {
			continue
		}
		if err != nil {
			return err
		}
		m.created = append(m.created, path)
	}
	return nil
}

// detectPackageManagers returns the installed programs that network.from knows, as the items of a JSON list.
func detectPackageManagers() string {
	var found []string
	for _, key := range config.KnownKeys() {
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

func quoteJSON(text string) (string, error) {
	out, err := json.Marshal(text)
	return string(out), err
}

func formatErrorLine(err error) string {
	if err == nil {
		return ""
	}
	return terminal.CleanLine(err.Error())
}

// testSandbox runs the self-test in a sandbox. Its error is the reason why isolation does not work on this machine.
func testSandbox(ctx context.Context, home string) error {
	command, err := hosts.SelfTestCommand()
	if err != nil {
		return err
	}
	sandbox, err := isolation.NewStarter(isolation.Config{Enabled: true, Home: home}, nil)
	if err != nil {
		return err
	}
	o := selftest.Options{Isolation: sandbox, Command: command, Dir: filepath.Join(home, "cache")}
	report, err := selftest.RunSelfTest(ctx, o)
	if err == nil {
		for _, broken := range report.BrokenProtections(o.ConfinementMode(), isolation.DetectFeatures()) {
			err = errors.Join(err, fmt.Errorf("the self-test got through %s (%s)", broken.Protection, broken.Got))
		}
	}
	return errors.Join(err, sandbox.Close())
}

func (m *initResult) printSummary(out *terminal.Writer) {
	row := func(name, value, note string) {
		if note != "" {
			note = out.Paint(terminal.Faint, "  ("+note+")")
		}
		fmt.Fprintf(out, "%-11s %s%s\n", out.Paint(terminal.Bold, name+":"), value, note)
	}
	state := func(path string) string {
		if slices.Contains(m.created, path) {
			return "created"
		}
		return "existing"
	}
	row("home", m.cfg.Home().Path, state(m.cfg.Home().Path))
	row("config", m.cfg.FilePath(), state(m.cfg.FilePath()))
	row("workspace", m.workspace, state(m.workspace))
	switch {
	case m.cfg.IsolationEnabled() && m.isolationErr == nil:
		row("isolation", out.Paint(terminal.Good, "on"), "the self-test passed")
	case m.cfg.IsolationEnabled():
		row("isolation", out.Paint(terminal.Bad, "on, but it does not work here"), "")
		fmt.Fprintln(out, "  "+formatErrorLine(m.isolationErr))
	case m.isolationErr == nil:
		row("isolation", out.Paint(terminal.Doubt, "off"), `it works here: set "isolation": {"enabled": true}`)
	default:
		row("isolation", out.Paint(terminal.Doubt, "off"), "")
		fmt.Fprintln(out, "  "+formatErrorLine(m.isolationErr))
	}
}
