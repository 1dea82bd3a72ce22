//go:build unix

package console

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// StepResult is the output and exit code of a step.
type StepResult struct {
	Output string // both streams; the home is written as ~
	Code   int
}

// CommandEnvironment is the environment in which a page's commands run.
type CommandEnvironment struct {
	Home     string   // an empty directory: the working directory and HOME
	Programs string   // directory that comes first in PATH
	Env      []string // additional variables
	User     int      // user and group of the commands, if the caller is root; 0 for the caller's
}

// RunSteps runs the commands in order in one bash, without the caller's environment.
func (s CommandEnvironment) RunSteps(ctx context.Context, steps []Step) ([]StepResult, error) {
	if len(steps) == 0 {
		return nil, nil
	}
	records, err := os.MkdirTemp("", "console")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(records) }()

	for _, dir := range []string{s.Home, records} {
		if s.User == 0 {
			break
		}
		if err := os.Chown(dir, s.User, s.User); err != nil {
			return nil, err
		}
	}
	cmd := exec.CommandContext(ctx, "bash", "--noprofile", "--norc")
	cmd.Dir = s.Home
	cmd.Env = []string{"HOME=" + s.Home, "PATH=" + s.Programs + ":/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8"}
	cmd.Env = append(cmd.Env, s.Env...)
	if s.User != 0 {
		id := uint32(s.User)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
	}
	cmd.Stdin = strings.NewReader(formatScript(steps, records))
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("bash: %w\n%s", err, said)
	}
	results := make([]StepResult, len(steps))
	for i := range steps {
		output, err := os.ReadFile(stepResultPath(records, i, "output"))
		if err != nil {
			return nil, fmt.Errorf("%q left nothing: %w", steps[i].Command, err)
		}
		code, err := os.ReadFile(stepResultPath(records, i, "code"))
		if err != nil {
			return nil, err
		}
		results[i].Output = strings.ReplaceAll(string(output), s.Home, "~")
		if results[i].Code, err = strconv.Atoi(strings.TrimSpace(string(code))); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// formatScript returns a script that runs each command in a { } group, so that a command sees the directory and variables
// of those before it and can't read the script from standard input.
func formatScript(steps []Step, records string) string {
	var b strings.Builder
	for i, step := range steps {
		fmt.Fprintf(&b, "{\n%s\n} >%s 2>&1 </dev/null\necho $? >%s\n", step.Command, stepResultPath(records, i, "output"),
			stepResultPath(records, i, "code"))
	}
	b.WriteString("exit 0\n")
	return b.String()
}

// stepResultPath returns the path of the file with the output or exit code of a step.
func stepResultPath(dir string, step int, what string) string {
	return filepath.Join(dir, strconv.Itoa(step)+"."+what)
}
