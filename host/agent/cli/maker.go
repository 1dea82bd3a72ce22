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
)

// ProgramVendor identifies a supported program by the prefix of model names such as "claude-cli/sonnet".
type ProgramVendor string

// The vendors.
const (
	ClaudeVendor ProgramVendor = "claude-cli"
	CodexVendor  ProgramVendor = "codex-cli"
)

// programAdapter describes a vendor's command-line agent, such as claude or codex: how to start it, authenticate it and
// read its output.
type programAdapter struct {
	program      string   // name on the PATH
	api          string   // base URL of its API
	keyVariable  string   // environment variable of its key
	keyVariables []string // possible variables; nil for any
	secretFormat string   // how it sends the key, if not as a bearer token

	arguments   func(c *ProgramModel, system string, r agent.ModelRequest) []string
	environment func(c *ProgramModel) map[string]string
	input       func(prompt string) ([]byte, error)
	reader      func(a *replyAssembler) eventHandler
}

// vendorPrograms are the supported programs.
var vendorPrograms = map[ProgramVendor]*programAdapter{
	ClaudeVendor: {
		program: "claude", api: "https://api.anthropic.com", keyVariable: "ANTHROPIC_API_KEY",
		keyVariables: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"},
		secretFormat: `{"header": "x-api-key", "value": "{{secret}}"}`,
		arguments:    claudeArguments, environment: claudeEnvironment, input: claudeInput,
		reader: func(a *replyAssembler) eventHandler { return &claudeEventHandler{replyAssembler: a} },
	},
	CodexVendor: {
		program: "codex", api: "https://api.openai.com/v1", keyVariable: "OPENAI_API_KEY",
		arguments: codexArguments, environment: func(*ProgramModel) map[string]string { return map[string]string{} },
		input:  func(prompt string) ([]byte, error) { return []byte(prompt), nil },
		reader: func(a *replyAssembler) eventHandler { return &codexEventHandler{a} },
	},
}

// baseURL returns the URL of the API that the program uses.
func (c *ProgramModel) baseURL() string { return cmp.Or(c.options.BaseURL, c.vendor.api) }

// apiHosts returns the hosts that the program must reach: the host of base or, if base is empty, of the vendor's API.
func (m *programAdapter) apiHosts(base string) ([]string, error) {
	u, err := url.Parse(cmp.Or(base, m.api))
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("its base URL is not one of http or https")
	}
	return []string{u.Host}, nil
}

// installedProgram is an installed program: the command to start it and the files that it needs.
type installedProgram struct {
	argv  []string
	paths []string // files it needs
}

// findProgram searches for an installed program. For a script it adds the interpreter and npm's packages.
func findProgram(command []string, name string) (*installedProgram, error) {
	if len(command) == 0 {
		command = []string{name}
	}
	file, err := osexec.LookPath(command[0])
	if err != nil {
		return nil, fmt.Errorf("there is no program %s; install it, or name it in command: %w", command[0], err)
	}
	if file, err = resolvePath(file); err != nil {
		return nil, err
	}
	f := &installedProgram{argv: append([]string{file}, command[1:]...), paths: []string{nodeModulesDir(file)}}
	interpreter, err := scriptInterpreter(file)
	if err != nil || interpreter == "" {
		return f, err
	}
	at, err := osexec.LookPath(interpreter)
	if err != nil {
		return nil, fmt.Errorf("%s takes %s to run: %w", file, interpreter, err)
	}
	if at, err = resolvePath(at); err != nil {
		return nil, err
	}
	f.argv = append([]string{at}, f.argv...)
	f.paths = append(f.paths, at)
	return f, nil
}

func resolvePath(file string) (string, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(file)
}

// nodeModulesDir returns the node_modules directory that contains a file. It returns the file itself if there is none.
func nodeModulesDir(file string) string {
	const dir = string(filepath.Separator) + "node_modules" + string(filepath.Separator)
	if i := strings.Index(file, dir); i >= 0 {
		return file[:i+len(dir)-1]
	}
	return file
}

// scriptInterpreter returns the interpreter in a script's "#!/usr/bin/env" line; empty for other files.
func scriptInterpreter(file string) (string, error) {
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

// repeatOption returns the option before each NAME=VALUE, sorted.
func repeatOption(option string, values map[string]string) []string {
	var args []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		args = append(args, option, name+"="+values[name])
	}
	return args
}
