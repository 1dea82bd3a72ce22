package policy

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/picoclaw/picoclaw/internal/limits"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

func narrowCommands(out, parent *Policy, child Child) (err error) {
	exec := parent.guard.Exec
	if out.guard.Exec.DenyPatterns, err = stricter("enable_deny_patterns", exec.DenyPatterns, child.EnableDenyPatterns,
		true); err != nil {
		return err
	}
	if err := checkPatterns("custom_deny_patterns", child.CustomDenyPatterns); err != nil {
		return err
	}
	out.guard.Exec.CustomDeny = slices.Concat(exec.CustomDeny, child.CustomDenyPatterns)
	if child.CustomAllowPatterns != nil {
		if err := subset("custom_allow_patterns", child.CustomAllowPatterns, exec.CustomAllow,
			!exec.DenyPatterns); err != nil {
			return err
		}
		out.guard.Exec.CustomAllow = slices.Clone(child.CustomAllowPatterns)
	}
	switch child.ExecProfile {
	case "":
	case guard.ProfileSeedStrict:
		out.guard.Exec.Profile = guard.ProfileSeedStrict
	case "default":
		if exec.Profile != guard.ProfileDefault {
			return wider("exec profile", "default")
		}
	default:
		return fmt.Errorf("exec profile %q is not known; known are default and seed_strict", child.ExecProfile)
	}
	if child.ExecEnv != nil {
		for _, name := range child.ExecEnv {
			if !slices.Contains(parent.execEnv, name) {
				return wider("exec environment", name)
			}
		}
		out.execEnv = sorted(child.ExecEnv)
	}
	return nil
}

func narrowLimits(out, parent *Policy, child Child) error {
	asked, has := child.Limits, parent.limits
	for _, limit := range []struct {
		name  string
		out   *time.Duration
		asked time.Duration
	}{
		{"exec timeout", &out.limits.ExecTimeout, asked.ExecTimeout},
		{"cron timeout", &out.limits.CronTimeout, asked.CronTimeout},
	} {
		if limit.asked < 0 || limit.asked > *limit.out {
			return wider(limit.name, limit.asked)
		}
		if limit.asked > 0 {
			*limit.out = limit.asked
		}
	}
	if err := narrowExecLimits(&out.limits.Exec, asked.Exec); err != nil {
		return err
	}
	if asked.ResultSize < 0 || asked.ResultSize > has.ResultSize {
		return wider("result size", asked.ResultSize)
	}
	if asked.ResultSize > 0 {
		out.limits.ResultSize = asked.ResultSize
	}
	return nil
}

// narrowExecLimits lowers what a command may use to what the child asks for.
func narrowExecLimits(l *limits.Limits, asked limits.Limits) error {
	return cmp.Or(
		lower("limit of processes", &l.Processes, asked.Processes),
		lower("limit of memory", &l.Memory, asked.Memory),
		lower("limit of processor time", &l.CPU, asked.CPU),
		lower("limit of file size", &l.FileSize, asked.FileSize),
		lower("limit of open files", &l.OpenFiles, asked.OpenFiles),
	)
}

// lower lowers one limit of the parent's; where it has none any is lower.
func lower[T int | int64 | time.Duration](name string, limit *T, asked T) error {
	if asked < 0 || *limit > 0 && asked > *limit {
		return wider(name, asked)
	}
	*limit = cmp.Or(asked, *limit)
	return nil
}

func narrowIsolation(out, parent *Policy, child Child) (err error) {
	if out.isolation.Enabled, err = stricter("isolation.enabled", parent.isolation.Enabled, child.IsolationEnabled,
		true); err != nil {
		return err
	}
	if out.isolation.Network, err = stricter("isolation.network", parent.isolation.Network, child.Network,
		false); err != nil {
		return err
	}
	out.plugins.Network = out.isolation.Network
	if child.ExposePaths == nil {
		return nil
	}
	for _, asked := range child.ExposePaths {
		has := slices.ContainsFunc(parent.isolation.ExposePaths, func(rule isolation.ExposePath) bool {
			wider := isolation.ExposePath{Source: asked.Source, Target: asked.Target, Mode: isolation.ModeReadWrite}
			return rule == asked || rule == wider && asked.Mode == isolation.ModeReadOnly
		})
		if !has {
			return wider("expose_paths", fmt.Sprintf("%s on %s (%s)", asked.Source, asked.Target, asked.Mode))
		}
	}
	out.isolation.ExposePaths = slices.Clone(child.ExposePaths)
	return nil
}
