//go:build long

package suites

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// suite is a row of testdata/suites.json: the tests of another project.
type suite struct {
	Suite    string      `json:"suite"`
	Packages []string    `json:"packages"` // of apt
	Prepare  []string    `json:"prepare"`  // lines of a script that fetches and builds the tests
	Run      []string    `json:"run"`      // lines of a script that runs the tests
	Inside   []insideRun `json:"inside"`   // runs in the sandbox
	Result   string      `json:"result"`   // regular expression with the groups name, test and result
	Passed   string      `json:"passed"`   // the result of a test that passed
	Least    int         `json:"least"`    // fewer tests mean that the suite did not run
}

// insideRun is a run of a suite in the sandbox.
type insideRun struct {
	Run      string   `json:"run"`
	Settings []string `json:"settings"` // as environment variables
}

// accepted is a row of testdata/differences.json: tests that may fail in a run only, and the reason. A row names the tests
// or their output. If the output decides, later tests with the same name group may fail as well: scripts build on the
// results of their earlier tests.
type accepted struct {
	Run    string `json:"run"`
	Tests  string `json:"tests"`  // regular expression
	Output string `json:"output"` // regular expression
	Reason string `json:"reason"`
}

// testResult is the result of one test.
type testResult struct{ group, test, result, output string }

func (r testResult) name() string { return r.group + " " + r.test }

// Tests of other projects have the same results in the sandbox as outside.
func TestSuites(t *testing.T) {
	var suites []suite
	var differences []accepted
	readJSON(t, "testdata/suites.json", &suites)
	readJSON(t, "testdata/differences.json", &differences)
	for _, s := range suites {
		t.Run(s.Suite, func(t *testing.T) { s.compare(t, differences) })
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

// compare runs the tests outside and inside at the same path, since built programs contain it.
func (s suite) compare(t *testing.T, differences []accepted) {
	p := newPlace(t)
	prepared := filepath.Join(p.home, "prepared")
	p.bare(t, append(slices.Clone(s.Prepare), "cp -a . "+prepared))
	outside := s.run(t, p, func() { p.bare(t, s.Run) })
	for _, in := range s.Inside {
		t.Run(in.Run, func(t *testing.T) {
			p.bare(t, []string{"chmod -R u+rwX .", "find . -mindepth 1 -delete", "cp -a " + prepared + "/. ."})
			inside := s.run(t, p, func() { p.inside(t, s.Run, in.Settings) })
			s.report(t, outside, inside, slices.DeleteFunc(slices.Clone(differences), func(a accepted) bool { return a.Run != in.Run }))
		})
	}
}

func (s suite) run(t *testing.T, p place, start func()) []testResult {
	t.Helper()
	began := time.Now()
	p.removeResults(t)
	start()
	text := p.readResults(t)
	results := s.parse(text)
	if len(results) < s.Least {
		t.Fatalf("%d tests; at least %d were expected\n%.2000s", len(results), s.Least, text)
	}
	t.Logf("%d tests, %.0f s", len(results), time.Since(began).Seconds())
	return results
}

// parse returns the results of the tests in their order, each with the output before it.
func (s suite) parse(text string) (results []testResult) {
	line, end := regexp.MustCompile(s.Result), 0
	for _, m := range line.FindAllStringSubmatchIndex(text, -1) {
		group := func(name string) string {
			at := 2 * line.SubexpIndex(name)
			return text[m[at]:m[at+1]]
		}
		results = append(results, testResult{group("name"), group("test"), group("result"), text[end:m[0]]})
		end = m[1]
	}
	return results
}

func (s suite) report(t *testing.T, outside, inside []testResult, differences []accepted) {
	byName := map[string]testResult{}
	for _, r := range inside {
		byName[r.name()] = r
	}
	passed, differ, cause := 0, map[string]int{}, map[string]string{}
	for _, bare := range outside {
		in := byName[bare.name()]
		i := slices.IndexFunc(differences, func(a accepted) bool { return a.matches(bare.name(), in.output) })
		if i >= 0 && differences[i].Output != "" {
			cause[bare.group] = differences[i].Reason
		}
		switch {
		case bare.result != s.Passed:
		case in.result == s.Passed:
			passed++
		case i >= 0:
			differ[differences[i].Reason]++
		case cause[bare.group] != "":
			differ[cause[bare.group]]++
		default:
			t.Errorf("%s: %s outside, %q inside\n%s", bare.name(), s.Passed, in.result, in.output[max(0, len(in.output)-1000):])
		}
	}
	t.Logf("%d tests passed inside and outside", passed)
	for _, reason := range slices.Sorted(maps.Keys(differ)) {
		t.Logf("%d tests differ: %s", differ[reason], reason)
	}
	for _, a := range differences {
		if differ[a.Reason] == 0 {
			t.Errorf("no test differs because %s; remove it from testdata/differences.json", a.Reason)
		}
	}
}

func (a accepted) matches(name, output string) bool {
	return (a.Tests == "" || regexp.MustCompile(a.Tests).MatchString(name)) && (a.Output == "" || regexp.MustCompile(a.Output).MatchString(output))
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

// resultFiles returns the paths of results.txt in the home and in the home of commands. Undo does not cover these homes, and
// git tests cause refusals after which picoclaw undoes the changes of a command.
func (p place) resultFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(p.home, "h", "runtime-user-env", "*", "results.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return append(files, filepath.Join(p.home, "results.txt"))
}

func (p place) removeResults(t *testing.T) {
	t.Helper()
	for _, file := range p.resultFiles(t) {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

func (p place) readResults(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(p.resultFiles(t)[0])
	if err != nil {
		t.Fatal(err)
	}
	if keep := os.Getenv("PICOCLAW_TEST_RESULTS"); keep != "" {
		if err := os.WriteFile(filepath.Join(keep, strings.ReplaceAll(t.Name(), "/", "_")), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return string(text)
}

func (p place) bare(t *testing.T, script []string) {
	t.Helper()
	p.start(t, nil, "bash", "-ec", strings.Join(script, "\n"))
}

func (p place) inside(t *testing.T, script, settings []string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.workspace, "run.sh"), []byte(strings.Join(script, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	p.start(t, settings, hosttest.ProgramPath("bin/picoclaw"), "call", "exec", "command=bash -e run.sh", "timeout=3600")
}

// start runs a program in the workspace as a user other than root.
func (p place) start(t *testing.T, settings []string, program string, args ...string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = p.workspace
	cmd.Env = append([]string{"HOME=" + p.home, "PICOCLAW_HOME=" + filepath.Join(p.home, "h"), "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8",
		"PICOCLAW_AGENTS_DEFAULTS_WORKSPACE=" + p.workspace, "PICOCLAW_TOOLS_EXEC_TIMEOUT_SECONDS=3600", "PICOCLAW_LOG_LEVEL=error",
		"PICOCLAW_ISOLATION_ENABLED=true"}, settings...)
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
