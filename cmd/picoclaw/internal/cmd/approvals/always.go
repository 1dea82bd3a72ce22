package approvals

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/clients"
	"github.com/picoclaw/picoclaw/host/approvals"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// allowPatternsKey is the only setting that approvals proposes. Other settings would allow more than calls like this.
const allowPatternsKey = "tools.exec.custom_allow_patterns"

// allowPatternHint matches a hint of the guard that proposes an allow pattern.
var allowPatternHint = lazyregexp.New(`^add ("(?:[^"\\]|\\.)*") to (?:\S+\.)?tools\.exec\.custom_allow_patterns\b`)

// proposeAllowPattern shows the allow pattern that permits calls like w, and writes it to the configuration if the user
// confirms.
func (v *Options) proposeAllowPattern(w *approvals.WaitingCall) error {
	found := allowPatternHint().FindStringSubmatch(w.Setting)
	if found == nil {
		if w.Setting == "" {
			return cli.FailedError(fmt.Errorf("no setting always allows it; %s requires the approval", w.Rule))
		}
		return cli.FailedError(fmt.Errorf("no setting can be written automatically; this would allow the call: %s", terminal.CleanLine(w.Setting)))
	}
	pattern, err := strconv.Unquote(found[1])
	if err != nil {
		return cli.FailedError(err)
	}
	cfg, err := v.LoadConfig("")
	if err != nil {
		return err
	}
	key, file, err := findAllowPatternSetting(cfg, w.Agent)
	if err != nil {
		return cli.FailedError(fmt.Errorf("nothing was written: %w; this would allow the call: %s", err, terminal.CleanLine(w.Setting)))
	}
	change, err := clients.PlanListAppend(file, key, pattern)
	if err != nil {
		return cli.FailedError(err)
	}
	out := terminal.NewWriter(v.Err)
	fmt.Fprintf(out, "%s in %s allows this command from now on:\n", key,
		terminal.CleanLine(file))
	clients.PrintDiff(out, change.Diff())
	yes, err := v.AskYesNo("Write it?")
	if err != nil {
		return cli.FailedError(errors.New("nothing was written: no terminal to confirm"))
	}
	if !yes {
		fmt.Fprintln(v.Out, "Nothing was written.")
		return nil
	}
	backup, err := change.Apply(time.Now())
	if err != nil {
		return cli.FailedError(err)
	}
	fmt.Fprintf(v.Out, "Written to %s. Run `picoclaw gateway reload`; other processes read it when they start.\n", change.Path)
	if backup != "" {
		fmt.Fprintf(v.Out, "Backup: %s\n", backup)
	}
	return nil
}

// findAllowPatternSetting returns the key of an agent's allow patterns, and the file to write it to.
func findAllowPatternSetting(cfg *config.Config, agent string) (key, file string, err error) {
	resolved, err := cfg.ResolveAgent(agent)
	if err != nil {
		return "", "", err
	}
	key, file = allowPatternsKey, cfg.FilePath()
	for _, s := range resolved.Settings() {
		if s.Common != allowPatternsKey {
			continue
		}
		switch s.Origin.Source {
		case config.VariableSource, config.FlagSource:
			return "", "", fmt.Errorf("%s sets %s", s.Origin, allowPatternsKey)
		}
		if s.Own {
			key = fmt.Sprintf("[%d].%s", slices.Index(cfg.AgentIDs(), resolved.ID), s.Key)
		}
	}
	for _, s := range cfg.Settings() { // which have keys as the file has them
		if key[0] == '[' && strings.HasSuffix(s.Key, key) {
			key = s.Key
		}
	}
	file = cmp.Or(file, filepath.Join(cfg.Home().Path, "config.json"))
	if ext := filepath.Ext(file); ext != ".json" && ext != ".jsonc" {
		return "", "", fmt.Errorf("%s is not JSON", file)
	}
	return key, file, nil
}
