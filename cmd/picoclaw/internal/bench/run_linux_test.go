package bench

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/internal/measure"
)

// BenchmarkRun has programs run with `picoclaw run`, with undo and protected files, and bare.
func BenchmarkRun(b *testing.B) {
	i := newInstallation(b)
	base, err := os.MkdirTemp("/var/tmp", "picoclaw-bench")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(base) })
	project, picoclaw := filepath.Join(base, "project"), program(b, "picoclaw")
	if err := errors.Join(os.Mkdir(project, 0o700), growFiles(filepath.Join(project, "files"), 2000),
		os.WriteFile(filepath.Join(project, "large"), make([]byte, 100<<20), 0o600)); err != nil {
		b.Fatal(err)
	}
	output := "" // of the last program
	start := func(name string, args ...string) error {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = project, append(slices.Clone(i.env), "HOME="+base)
		out, err := cmd.CombinedOutput()
		if output = string(out); err != nil {
			return fmt.Errorf("%s: %w: %s", name, err, out)
		}
		return nil
	}
	if err := errors.Join(start("git", "init", "-q"), start("git", "add", "files"),
		start("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "files")); err != nil {
		b.Fatal(err)
	}
	for _, m := range []struct {
		name, script string
		repeat       int // in one program, which measures itself; 0 measures its start too
		bound        string
	}{
		{"start", "true", 0, ""},
		{"git_status", "git status --short >/dev/null", 20, "<=1.05"},
		{"read_100mb", "cat large >/dev/null", 20, "<=1.05"},
	} {
		b.Run(m.name, func(b *testing.B) {
			script, times := m.script, [2]measure.RunDurations{}
			if m.repeat > 0 {
				script = fmt.Sprintf("b=$(date +%%s%%N); for i in $(seq %d); do %s; done; echo $(($(date +%%s%%N)-b))", m.repeat, m.script)
			}
			for b.Loop() {
				for i, command := range [][]string{{picoclaw, "run", "--", "sh", "-c", script}, {"sh", "-c", script}} {
					if err := times[i].TimeRun(func() error { return start(command[0], command[1:]...) }); err != nil {
						b.Fatal(err)
					}
					if m.repeat > 0 {
						nanoseconds, err := strconv.ParseInt(strings.TrimSpace(output), 10, 64)
						if err != nil {
							b.Fatal(err)
						}
						times[i][len(times[i])-1] = time.Duration(nanoseconds)
					}
				}
			}
			times[0].ReportMedian(b, "run-ms")
			times[1].ReportMedian(b, "bare-ms")
			if m.repeat > 0 {
				b.ReportMetric(times[0].Median()/times[1].Median(), "run_to_bare-ratio"+m.bound)
			} else {
				b.ReportMetric(times[0].Median()-times[1].Median(), "cost-ms<=60")
			}
		})
	}
}
