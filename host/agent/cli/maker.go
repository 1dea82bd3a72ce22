package cli

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/sdk/exec"
)

// Maker says whose program it is, as the protocol of a model does: "claude-cli/sonnet".
type Maker string

// The makers.
const (
	Claude Maker = "claude-cli"
	Codex  Maker = "codex-cli"
)

// maker is what differs between programs.
type maker struct {
	program string   // its name on the PATH
	api     string   // the URL of its API
	key     string   // the variable that its key is in
	keys    []string // those that it may be in; nil for any
	sends   string   // how a secret in the first is to be sent, where that is not the usual way

	arguments   func(c *CLI, system string, r agent.Request) []string
	environment func(c *CLI) map[string]string
	input       func(prompt string) ([]byte, error)
	reader      func(a *assembly) reader
}

// makers are all of them.
var makers = map[Maker]*maker{
	Claude: {
		program: "claude", api: "https://api.anthropic.com", key: "ANTHROPIC_API_KEY",
		keys:      []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"},
		sends:     `{"header": "x-api-key", "value": "{{secret}}"}`,
		arguments: claudeArguments, environment: claudeEnvironment, input: claudeInput,
		reader: func(a *assembly) reader { return &claude{assembly: a} },
	},
	Codex: {
		program: "codex", api: "https://api.openai.com/v1", key: "OPENAI_API_KEY",
		arguments: codexArguments, environment: func(*CLI) map[string]string { return map[string]string{} },
		input:  func(prompt string) ([]byte, error) { return []byte(prompt), nil },
		reader: func(a *assembly) reader { return &codex{a} },
	},
}

// base is the URL of the API.
func (c *CLI) base() string { return cmp.Or(c.o.BaseURL, c.maker.api) }

// hosts are those of an API.
func (m *maker) hosts(base string) ([]string, error) {
	u, err := url.Parse(cmp.Or(base, m.api))
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("its base URL is not one of http or https")
	}
	return []string{u.Host}, nil
}

// environment is the whole environment of a program, which sees paths besides the system's.
func environment(own map[string]string, paths []string) []string {
	return exec.Environment(nil, own, paths)
}

// found is a program on this machine.
type found struct {
	argv  []string
	paths []string // what it needs to see
}

// find looks a program up. What npm has installed is found with the packages beside it, and run by the interpreter that
// it names.
func find(command []string, name string) (*found, error) {
	if len(command) == 0 {
		command = []string{name}
	}
	file, err := osexec.LookPath(command[0])
	if err != nil {
		return nil, fmt.Errorf("there is no program %s; install it, or name it in command: %w", command[0], err)
	}
	if file, err = resolved(file); err != nil {
		return nil, err
	}
	f := &found{argv: append([]string{file}, command[1:]...), paths: []string{packages(file)}}
	interpreter, err := interpreter(file)
	if err != nil || interpreter == "" {
		return f, err
	}
	at, err := osexec.LookPath(interpreter)
	if err != nil {
		return nil, fmt.Errorf("%s takes %s to run: %w", file, interpreter, err)
	}
	if at, err = resolved(at); err != nil {
		return nil, err
	}
	f.argv = append([]string{at}, f.argv...)
	f.paths = append(f.paths, at)
	return f, nil
}

func resolved(file string) (string, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(file)
}

// packages is the directory of npm's packages that a file is in, or else the file.
func packages(file string) string {
	const dir = string(filepath.Separator) + "node_modules" + string(filepath.Separator)
	if i := strings.Index(file, dir); i >= 0 {
		return file[:i+len(dir)-1]
	}
	return file
}

// interpreter is the program that a script has run it, where that is looked up on the PATH; empty for others.
func interpreter(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	line, _ := bufio.NewReaderSize(f, 512).ReadSlice('\n') // a program has no line there
	words := strings.Fields(string(line))
	if len(words) >= 2 && strings.HasPrefix(words[0], "#!") && filepath.Base(words[0]) == "env" {
		return words[len(words)-1], nil
	}
	return "", nil
}

// sortedArguments are options with a value each, in a fixed order.
func sortedArguments(option string, values map[string]string) []string {
	var args []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		args = append(args, option, name+"="+values[name])
	}
	return args
}
