//go:build long

package programs

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// program is a row of testdata/programs.json: a script that works, or prints the text of a refusal.
type program struct {
	Program  string   `json:"program"`
	What     string   `json:"what"`
	Packages []string `json:"packages"` // of apt
	Modules  []string `json:"modules"`  // of npm, copied to tools in the workspace
	Needs    []string `json:"needs"`    // programs; the program itself if there are none
	Script   string   `json:"script"`   // or the name of a file in testdata
	Refused  string   `json:"refused"`  // regular expression of the output where it does not work; "" where it does
	Without  string   `json:"without"`  // likewise without a sandbox
	Root     string   `json:"root"`     // likewise as root
}

// outcome is the result of a program.
type outcome struct {
	Program string            `json:"program"`
	What    string            `json:"what"`
	Results map[string]string `json:"results"` // by mode: "works", or a line of the refusal
}

// mode is a way to run commands: by exec, or by picoclaw run.
type mode struct {
	name     string
	uid      int
	isolated bool
	run      bool
}

// resultFile is a variable of the environment with the file that gets the outcomes.
const resultFile = "PICOCLAW_TEST_RESULTS"

func modes() []mode {
	all := []mode{{"sandbox", 1000, true, false}, {"no sandbox", 1000, false, false}, {"run", 1000, true, true}}
	if os.Getuid() == 0 {
		all = append(all, mode{"sandbox, root", 0, true, false}, mode{"no sandbox, root", 0, false, false}, mode{"run, root", 0, true, true})
	}
	return all
}

// Everyday programs work as commands, or are refused with a message.
func TestPrograms(t *testing.T) {
	text, err := os.ReadFile("testdata/programs.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []program
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	var outcomes []outcome
	for _, p := range all {
		if strings.HasSuffix(p.Script, ".sh") {
			if text, err = os.ReadFile(filepath.Join("testdata", p.Script)); err != nil {
				t.Fatal(err)
			}
			p.Script = string(text)
		}
		o := outcome{p.Program, p.What, map[string]string{}}
		t.Run(p.Program, func(t *testing.T) {
			for _, name := range p.needs() {
				if _, err := exec.LookPath(name); err != nil {
					t.Fatalf("%s is missing: .ci/install long installs it", name)
				}
			}
			for _, m := range modes() {
				t.Run(m.name, func(t *testing.T) { o.Results[m.name] = p.try(t, m) })
			}
		})
		outcomes = append(outcomes, o)
	}
	file := os.Getenv(resultFile)
	if file == "" || t.Failed() {
		return
	}
	text, err = json.MarshalIndent(outcomes, "", "\t")
	if err == nil {
		err = os.WriteFile(file, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Error(err)
	}
}

func (p program) needs() []string {
	if len(p.Needs) == 0 {
		return []string{p.Program}
	}
	return p.Needs
}

// expected returns the regular expression of the refusal in a mode; "" if the program works.
func (p program) expected(m mode) string {
	switch {
	case p.Refused != "":
		return p.Refused
	case p.Root != "" && m.uid == 0:
		return p.Root
	case !m.isolated:
		return p.Without
	}
	return ""
}

// newWorkspace returns a workspace with the program's script and modules, in a home outside /tmp.
func (p program) newWorkspace(t *testing.T, uid int) (home, workspace string) {
	t.Helper()
	home, err := os.MkdirTemp("/var/tmp", "p")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	workspace = filepath.Join(home, "w")
	if err = errors.Join(os.Mkdir(workspace, 0o755), os.WriteFile(filepath.Join(workspace, "run.sh"), []byte(p.Script), 0o644)); err != nil {
		t.Fatal(err)
	}
	root, err := clitest.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range p.Modules {
		from := os.DirFS(filepath.Join(root, "bin", "programs", "node_modules", name))
		if err = os.CopyFS(filepath.Join(workspace, "tools", name), from); err != nil {
			t.Fatalf("%v; `.ci/install long` installs the missing programs", err)
		}
	}
	if out, err := exec.Command("chown", "-R", fmt.Sprintf("%[1]d:%[1]d", uid), home).CombinedOutput(); err != nil && os.Getuid() == 0 {
		t.Fatalf("%v\n%s", err, out)
	}
	return home, workspace
}

// try runs the program's script in a mode, and returns the outcome.
func (p program) try(t *testing.T, m mode) string {
	home, workspace := p.newWorkspace(t, m.uid)
	args := []string{"call", "exec", "command=bash -e run.sh", "timeout=240"}
	if m.run {
		args = []string{"run", "--", "bash", "-e", "run.sh"}
	}
	cmd := exec.Command(hosttest.ProgramPath("bin/picoclaw"), args...)
	cmd.Dir = workspace
	cmd.Env = []string{"HOME=" + home, "PICOCLAW_HOME=" + filepath.Join(home, "h"), "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8",
		"PICOCLAW_AGENTS_DEFAULTS_WORKSPACE=" + workspace, "PICOCLAW_TOOLS_EXEC_TIMEOUT_SECONDS=240", "PICOCLAW_LOG_LEVEL=error",
		fmt.Sprintf("PICOCLAW_ISOLATION_ENABLED=%v", m.isolated)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(m.uid), Gid: uint32(m.uid)}}
	if os.Getuid() != 0 {
		cmd.SysProcAttr = nil
	}
	out, err := cmd.CombinedOutput()
	want := p.expected(m)
	if want == "" {
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return "works"
	}
	refusal := regexp.MustCompile(`(?m)^.*(?:` + want + `).*$`).FindString(string(out))
	if err == nil || refusal == "" {
		t.Errorf("%v; want a refusal with %q\n%s", err, want, out)
	}
	return strings.ReplaceAll(strings.TrimSpace(refusal), home, "~")
}
