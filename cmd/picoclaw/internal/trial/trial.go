// Package trial tests a plugin: first its manifest, then its program in a separate host with a temporary workspace.
//
// It must not know whether the plugin is installed, or how findings are shown.
package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/host/store"
	"github.com/picoclaw/picoclaw/sdk/contract"
)

// FindingSeverity is the severity of a finding: ok, warning or failed.
type FindingSeverity string

// The grades of findings.
const (
	Good FindingSeverity = "ok"
	Poor FindingSeverity = "warning" // it works, but could be better for users
	Bad  FindingSeverity = "failed"  // it does not keep the contract
)

// Finding is the result of one check of a plugin.
type Finding struct {
	Check string          `json:"check"`
	Grade FindingSeverity `json:"grade"`
	What  string          `json:"what,omitempty"` // problem and remedy
}

// TrialOptions are the options of a trial.
type TrialOptions struct {
	Source    string // a directory or an archive
	PluginDir string // directory of picoclaw's plugins; empty for the one beside its binary
	Logger    hclog.Logger
}

// pluginTrial is one trial of a plugin, with its findings.
type pluginTrial struct {
	o        TrialOptions
	dir      string // temporary home
	pkg      *store.StagedPackage
	found    []Finding
	isolated bool
}

// TestPlugin checks a plugin package and calls its tools. Faults of the plugin are findings, not errors.
func TestPlugin(ctx context.Context, o TrialOptions) (found []Finding, err error) {
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	dir, err := os.MkdirTemp("", "picoclaw-trial-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	t := &pluginTrial{o: o, dir: dir}
	if !t.checkAndInstallPackage() {
		return t.found, nil
	}
	return t.found, t.testRunningPlugin(ctx)
}

func (t *pluginTrial) addFinding(check string, grade FindingSeverity, format string, args ...any) {
	t.found = append(t.found, Finding{check, grade, fmt.Sprintf(format, args...)})
}

// checkAndInstallPackage checks the package and its manifest without running it, and installs it in the trial's home.
func (t *pluginTrial) checkAndInstallPackage() bool {
	s := store.NewStore(t.dir)
	pkg, err := s.StagePackage(t.o.Source, store.SignaturePolicy{})
	if err != nil {
		t.addFinding("package", Bad, "%v", err)
		return false
	}
	t.pkg = pkg
	t.addFinding("package", Good, "%s %s, %s, %s", pkg.Manifest.ID, pkg.Manifest.Version,
		terminal.Pluralize(len(pkg.Manifest.Tools), "tool"), terminal.Pluralize(len(pkg.Files), "file"))
	findings, err := contract.CheckManifest(pkg.Manifest)
	if err != nil {
		t.addFinding("manifest", Bad, "%v", err)
		return false
	}
	for _, f := range findings {
		t.addFinding("manifest", Poor, "%s", f)
	}
	if len(findings) == 0 {
		t.addFinding("manifest", Good, "names, docs, schemas and claims are complete")
	}
	if err := s.InstallPackage(pkg); err != nil {
		t.addFinding("package", Bad, "%v", err)
		return false
	}
	return true
}

// openHost opens a host with a test workspace, isolated if this machine supports isolation.
func (t *pluginTrial) openHost() (*session.Host, error) {
	workspace := filepath.Join(t.dir, "workspace")
	if err := os.MkdirAll(filepath.Join(workspace, "dir"), 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(workspace, "file.txt"), []byte("some text\n"), 0o600); err != nil {
		return nil, err
	}
	var err error
	for _, isolated := range []bool{true, false} {
		var h *session.Host
		if h, err = t.openHostWith(workspace, isolated); err == nil {
			t.isolated = isolated
			return h, nil
		}
	}
	return nil, err
}

// openHostWith opens a host with a workspace, isolated or not.
func (t *pluginTrial) openHostWith(workspace string, isolated bool) (*session.Host, error) {
	cfg, err := config.Load(config.LoadOptions{Environ: append(os.Environ(),
		"PICOCLAW_CONFIG=", "PICOCLAW_HOME="+t.dir, "PICOCLAW_AGENTS_DEFAULTS_WORKSPACE="+workspace, "PICOCLAW_TOOLS_SET=all",
		fmt.Sprintf("PICOCLAW_ISOLATION_ENABLED=%t", isolated))})
	if err != nil {
		return nil, err
	}
	h, err := session.OpenHost(session.HostOptions{Config: cfg, PluginDir: t.o.PluginDir, Logger: t.o.Logger})
	if err != nil {
		return nil, err
	}
	if err := h.PrepareForCalls(); err != nil {
		return nil, errors.Join(err, h.Close(context.Background()))
	}
	return h, nil
}

// callTimeout limits the time of a call during the trial.
const callTimeout = 20 * time.Second

// testRunningPlugin starts the plugin, calls its tools and stops it.
func (t *pluginTrial) testRunningPlugin(ctx context.Context) error {
	h, err := t.openHost()
	if err != nil {
		return err
	}
	sess, err := h.OpenSession("", session.CLI)
	if err != nil {
		return errors.Join(err, h.Close(context.Background()))
	}
	if t.isolated {
		t.addFinding("sandbox", Good, "tried with isolation on")
	} else {
		t.addFinding("sandbox", Poor, "isolation does not work on this machine, so the plugin was tested without it; `picoclaw doctor` shows the reason")
	}
	c := &toolTester{pluginTrial: t, session: sess}
	if c.startPlugin(ctx) {
		c.testEveryTool(ctx)
		c.testCancellation(ctx)
		c.testConcurrentCalls(ctx)
	}
	began := time.Now()
	if err := h.Close(context.Background()); err != nil {
		t.addFinding("end", Bad, "%v", err)
	} else if took := time.Since(began); took > stopTimeout {
		t.addFinding("end", Bad, "it took %s to end; end within %s after the Drain call, or after the end of standard input", took.Round(time.Millisecond), stopTimeout)
	} else {
		t.addFinding("end", Good, "ends on request")
	}
	return nil
}

// stopTimeout limits the time that a plugin without running calls may take to exit.
const stopTimeout = 2 * time.Second
