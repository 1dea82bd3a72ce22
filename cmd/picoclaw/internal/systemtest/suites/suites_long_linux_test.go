//go:build long

package suites

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// suite is a row of testdata/suites.json: the tests of another project.
type suite struct {
	Suite    string   `json:"suite"`
	Packages []string `json:"packages"` // of apt
	Prepare  []string `json:"prepare"`  // lines of a script that fetches and builds the tests
	Run      []string `json:"run"`      // lines of a script that runs the tests
	Result   string   `json:"result"`   // regular expression with the groups name, test and result
	Passed   string   `json:"passed"`   // the result of a test that passed
	Least    int      `json:"least"`    // fewer tests mean that the suite did not run
	Accepted []accepted
}

// accepted is a row of testdata/differences.json: tests that may fail inside only, and the reason.
type accepted struct {
	Suite  string `json:"suite"`
	Tests  string `json:"tests"` // regular expression
	Reason string `json:"reason"`
}

// Tests of other projects have the same results in the sandbox as outside.
func TestSuites(t *testing.T) {
	var suites []suite
	var differences []accepted
	readJSON(t, "testdata/suites.json", &suites)
	readJSON(t, "testdata/differences.json", &differences)
	for _, s := range suites {
		for _, d := range differences {
			if d.Suite == s.Suite {
				s.Accepted = append(s.Accepted, d)
			}
		}
		t.Run(s.Suite, s.compare)
	}
}

func readJSON(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// compare runs the tests outside and inside, both at the same path: built programs contain it.
func (s suite) compare(t *testing.T) {
	p := newPlace(t)
	prepared := filepath.Join(p.home, "prepared")
	if out, err := p.bare(append(slices.Clone(s.Prepare), "cp -a . "+prepared)); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	outside := s.run(t, p, p.bare)
	if out, err := p.bare([]string{"find . -mindepth 1 -delete", "cp -a " + prepared + "/. ."}); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.report(t, outside, s.run(t, p, p.inside))
}

func (s suite) run(t *testing.T, p place, start func(script []string) ([]byte, error)) map[string]string {
	t.Helper()
	if out, err := start(s.Run); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(p.workspace, "results.txt"))
	if err != nil {
		t.Fatal(err)
	}
	results := s.parse(string(text))
	if len(results) < s.Least {
		t.Fatalf("%d tests; at least %d were expected\n%.2000s", len(results), s.Least, text)
	}
	return results
}

// parse returns the results of the tests by name.
func (s suite) parse(text string) map[string]string {
	found := map[string]string{}
	line := regexp.MustCompile(s.Result)
	for _, m := range line.FindAllStringSubmatch(text, -1) {
		found[m[line.SubexpIndex("name")]+" "+m[line.SubexpIndex("test")]] = m[line.SubexpIndex("result")]
	}
	return found
}

func (s suite) report(t *testing.T, outside, inside map[string]string) {
	passed, differ := 0, map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(outside)) {
		switch {
		case outside[name] != s.Passed:
			continue
		case inside[name] == s.Passed:
			passed++
			continue
		}
		i := slices.IndexFunc(s.Accepted, func(a accepted) bool { return regexp.MustCompile(a.Tests).MatchString(name) })
		if i < 0 {
			t.Errorf("%s: %s outside, %q inside", name, s.Passed, inside[name])
			continue
		}
		differ[s.Accepted[i].Reason]++
	}
	t.Logf("%s: %d tests passed inside and outside", s.Suite, passed)
	for _, reason := range slices.Sorted(maps.Keys(differ)) {
		t.Logf("%s: %d tests differ: %s", s.Suite, differ[reason], reason)
	}
	for _, a := range s.Accepted {
		if differ[a.Reason] == 0 {
			t.Errorf("no test differs because %s; remove it from testdata/differences.json", a.Reason)
		}
	}
}

// place is a home with a workspace, outside /tmp.
type place struct{ home, workspace string }

// user is the user that runs the tests.
const user = 1000

func newPlace(t *testing.T) place {
	t.Helper()
	home, err := os.MkdirTemp("/var/tmp", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = exec.Command("rm", "-rf", home).Run() })
	p := place{home, filepath.Join(home, "w")}
	if err := errors.Join(os.Mkdir(p.workspace, 0o755), os.Chown(home, user, user), os.Chown(p.workspace, user, user)); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p place) bare(script []string) ([]byte, error) {
	return p.start("bash", "-ec", strings.Join(script, "\n"))
}

func (p place) inside(script []string) ([]byte, error) {
	file := filepath.Join(p.workspace, "run.sh")
	if err := os.WriteFile(file, []byte(strings.Join(script, "\n")), 0o644); err != nil {
		return nil, err
	}
	return p.start(hosttest.ProgramPath("bin/picoclaw"), "call", "exec", "command=bash -e run.sh", "timeout=3600")
}

// start runs a program in the workspace as a user other than root.
func (p place) start(program string, args ...string) ([]byte, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir = p.workspace
	cmd.Env = []string{"HOME=" + p.home, "PICOCLAW_HOME=" + filepath.Join(p.home, "h"), "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8",
		"PICOCLAW_AGENTS_DEFAULTS_WORKSPACE=" + p.workspace, "PICOCLAW_TOOLS_EXEC_TIMEOUT_SECONDS=3600", "PICOCLAW_LOG_LEVEL=error",
		"PICOCLAW_ISOLATION_ENABLED=true"}
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	}
	return cmd.CombinedOutput()
}
