//go:build linux

package session_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"sync"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/internal/measure"
)

// BenchmarkCommands compares commands through host and plugin with the same ones that Go starts.
func BenchmarkCommands(b *testing.B) {
	for _, isolated := range []bool{false, true} {
		b.Run(map[bool]string{false: "plain", true: "isolated"}[isolated], func(b *testing.B) {
			_, s := openBench(b, hosttest.TempDir(b), "{}", isolated, nil)
			execTool := func(command string) func() error {
				args, err := json.Marshal(map[string]string{"command": command})
				if err != nil {
					b.Fatal(err)
				}
				return callTool(s, "exec", string(args))
			}
			b.Run("true", func(b *testing.B) {
				// The shell that runs commands, bash, takes longer to start than /bin/sh may.
				t := measure.RunInTurns(b,
					measure.BenchCase{Name: "exec", Run: execTool("true")},
					measure.BenchCase{Name: "call_without_command", Run: callTool(s, "process", `{"action":"list"}`)},
					measure.BenchCase{Name: "sh", Run: func() error { return startedByGo("/bin/sh", "-c", "true").Run() }},
					measure.BenchCase{Name: "bash", Run: func() error { return bash("true").Run() }})
				b.ReportMetric(t[0].Median()-t[1].Median()-t[2].Median(), "cost-ms<=1")
			})
			b.Run("output_100mb", func(b *testing.B) {
				const script = "head -c 100000000 /dev/zero"
				t := measure.RunInTurns(b,
					measure.BenchCase{Name: "exec", Run: execTool(script)},
					measure.BenchCase{Name: "pipe", Run: func() error { return readByGo(script) }})
				b.ReportMetric(t[1].Median()/t[0].Median(), "exec-speed>=0.5")
			})
			b.Run("parallel_16", func(b *testing.B) {
				const script = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done"
				t := measure.RunInTurns(b,
					measure.BenchCase{Name: "exec", Run: func() error { return runParallel(execTool(script)) }},
					measure.BenchCase{Name: "bash", Run: func() error { return runParallel(func() error { return bash(script).Run() }) }})
				b.ReportMetric(t[0].Median()/t[1].Median(), "exec_to_bash-ratio")
			})
		})
	}
}

// readByGo runs a script and reads all of its output from a pipe.
func readByGo(script string) error {
	cmd := startedByGo("/bin/sh", "-c", script)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err = io.CopyBuffer(io.Discard, struct{ io.Reader }{out}, make([]byte, 64<<10))
	return errors.Join(err, cmd.Wait())
}

func bash(script string) *exec.Cmd {
	return startedByGo("/bin/bash", "--noprofile", "--norc", "-c", script)
}

// startedByGo is a command with as small an environment as exec gives.
func startedByGo(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	return cmd
}

// runParallel runs f 16 times at the same time.
func runParallel(f func() error) error {
	var wg sync.WaitGroup
	failed := make(chan error, 16)
	for range cap(failed) {
		wg.Go(func() { failed <- f() })
	}
	wg.Wait()
	close(failed)
	var all error
	for err := range failed {
		all = errors.Join(all, err)
	}
	return all
}
