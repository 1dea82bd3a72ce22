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

// Result is what became of a step.
type Result struct {
	Output string // both streams, as a terminal shows them; the home is written as ~
	Code   int
}

// Stage is where commands are played.
type Stage struct {
	Home     string   // an empty directory, which commands start in and take for their home
	Programs string   // a directory that comes first on their PATH
	Env      []string // variables besides
	User     int      // the user and group that they run as, if the caller is root; 0 for the caller's own
}

// Play runs the commands one after the other, by one bash, with nothing of the caller's environment.
func (s Stage) Play(ctx context.Context, steps []Step) ([]Result, error) {
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
	cmd.Stdin = strings.NewReader(script(steps, records))
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("bash: %w\n%s", err, said)
	}
	results := make([]Result, len(steps))
	for i := range steps {
		output, err := os.ReadFile(record(records, i, "output"))
		if err != nil {
			return nil, fmt.Errorf("%q left nothing: %w", steps[i].Command, err)
		}
		code, err := os.ReadFile(record(records, i, "code"))
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

// script has a group for each command, so that directories and variables last, and no command reads the script.
func script(steps []Step, records string) string {
	var b strings.Builder
	for i, step := range steps {
		fmt.Fprintf(&b, "{\n%s\n} >%s 2>&1 </dev/null\necho $? >%s\n", step.Command, record(records, i, "output"),
			record(records, i, "code"))
	}
	b.WriteString("exit 0\n")
	return b.String()
}

func record(dir string, step int, what string) string {
	return filepath.Join(dir, strconv.Itoa(step)+"."+what)
}
