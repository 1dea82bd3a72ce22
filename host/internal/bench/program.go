package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

var errNoAnswer = errors.New("that is no answer to initialize")

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
	`"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}` + "\n"

// measureProgram times the program as a whole, beside a Go program that does nothing: this benchmark, told to.
func measureProgram(bin string) error {
	const rounds = 25
	return withHome(func(home string) error {
		picoclaw := filepath.Join(bin, "picoclaw")
		env := []string{"HOME=" + home, "PICOCLAW_HOME=" + home, "PICOCLAW_ISOLATION_ENABLED=true"}
		var trivial, version, answer, read sample
		if err := os.MkdirAll(filepath.Join(home, "workspace"), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(home, "workspace", "a"), []byte("a\n"), 0o600); err != nil {
			return err
		}
		for i := range rounds + 1 {
			for _, step := range []struct {
				into *sample
				do   func() error
			}{
				{&trivial, func() error { return quiet(env, "/bin/true") }},
				{&version, func() error { return quiet(env, picoclaw, "version") }},
				{&answer, func() error { return firstAnswer(env, picoclaw, "mcp") }},
				{&read, func() error { return quiet(env, picoclaw, "call", "read_file", "path=a") }},
			} {
				if err := step.into.timed(step.do); err != nil {
					return err
				}
				if i == 0 {
					*step.into = nil
				}
			}
		}
		fmt.Println("the program as a whole, isolation on")
		fmt.Println("  /bin/true                             ", trivial)
		fmt.Println("  picoclaw version                      ", version)
		fmt.Printf("  picoclaw mcp, start to initialize      %v   (median at most 15)\n", answer)
		fmt.Println("  picoclaw call read_file, from nothing ", read)
		return nil
	})
}

func quiet(env []string, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// firstAnswer starts an MCP server and waits for its answer to initialize. Ending it is timed too: that is where a
// server that dawdles shows, and it takes little.
func firstAnswer(env []string, name string, args ...string) (err error) {
	cmd := exec.Command(name, args...)
	cmd.Env = env
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close(), cmd.Wait()) }()
	if _, err := io.WriteString(in, initialize); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(line, `"serverInfo"`) {
		return fmt.Errorf("%s answered %q: %w", name, line, errors.Join(errNoAnswer, err))
	}
	return nil
}
