package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/knadh/koanf/v2"

	"github.com/picoclaw/picoclaw/internal/smallfile"
)

// Options say where the configuration is and what stands above it.
type Options struct {
	// File is the configuration file that --config names; empty to look for it.
	File string

	// Workspace is what --workspace names, absolute or relative to the working directory: the workspace of Agent.
	Workspace string

	// Agent is the id of the agent that Workspace is for; empty for the first.
	Agent string

	// Central is what a fleet has given this machine; empty for <home>/fleet/central.json, if it is there. The file stands
	// above it.
	Central string

	// Environ is the environment, as [os.Environ] returns it; nil for the process's own.
	Environ []string
}

// Load finds, reads and checks the configuration. What is wrong with it is an [*Error], the first if there is more
// than one thing; [Check] returns all.
func Load(options Options) (*Config, error) {
	c, faults := Check(options)
	if len(faults) > 0 {
		return nil, faults[0]
	}
	return c, nil
}

// Check is like [Load] and returns everything that is wrong, in the order of the places: the file's lines, then the
// variables by name. The configuration is nil if anything is. What one fault hides, such as the rest of a file
// that is not JSON, is not looked at.
func Check(options Options) (*Config, []*Error) {
	c, err := locate(options)
	if err != nil {
		return nil, []*Error{err}
	}
	if faults := c.read(options); len(faults) > 0 {
		return nil, faults
	}
	return c, nil
}

// locate finds the instance root and the file.
func locate(options Options) (*Config, *Error) {
	environ := options.environ()
	home, err := findHome(environ)
	if err != nil {
		return nil, err
	}
	file, err := findFile(options.File, home, environ)
	if err != nil {
		return nil, err
	}
	central := options.Central
	if central == "" && !home.Fallback {
		if named := CentralFile(home.Path); exists(named) {
			central = named
		}
	}
	return &Config{home: home, file: file, central: central}, nil
}

func (o Options) environ() environment {
	if o.Environ != nil {
		return o.Environ
	}
	return os.Environ()
}

func (c *Config) read(options Options) []*Error {
	document := &node{kind: object}
	if c.file != "" {
		var err *Error
		if document, err = readFile(c.file); err != nil {
			return []*Error{err}
		}
	}
	central := &node{kind: object}
	if c.central != "" {
		var err *Error
		if central, err = readFile(c.central); err != nil {
			return []*Error{err}
		}
	}
	environ := options.environ()
	if faults := c.merge(central, document, environ); len(faults) > 0 {
		return faults
	}
	if options.Workspace != "" {
		if err := c.override(options, environ); err != nil {
			return []*Error{err}
		}
	}
	return nil
}

// maxFile is more than any configuration needs; a file beyond it was named by mistake.
const maxFile = 4 << 20

// readFile reads and parses a configuration file, by its extension as YAML or as JSON with comments.
func readFile(path string) (*node, *Error) {
	origin := Origin{Source: File, Name: path}
	if info, err := os.Stat(path); err == nil {
		if open := openToAll(path, info); open != nil {
			return nil, open
		}
	}
	data, err := smallfile.Read(path, maxFile)
	if err != nil {
		return nil, &Error{Origin: origin, Problem: "the configuration file can't be read: " + err.Error(), err: err}
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		return nil, &Error{Origin: origin, Problem: "the configuration file is not UTF-8"}
	}
	if ext := strings.ToLower(filepath.Ext(path)); ext == ".yaml" || ext == ".yml" {
		return parseYAML(data, origin)
	}
	return parseJSON(data, origin)
}

// openToAll says why a configuration file is one that everybody on the machine could have written, nil if it is not:
// what is in it decides what agents may do. Modes of Windows say nothing of that.
func openToAll(path string, info fs.FileInfo) *Error {
	if runtime.GOOS == "windows" {
		return nil
	}
	origin := Origin{Source: File, Name: path}
	if mode := info.Mode(); mode.Perm()&0o002 != 0 {
		return fault(origin, "", fmt.Sprintf("everybody can write this file (mode %04o), and it decides what agents may do",
			mode.Perm()), "`chmod go-w "+path+"`")
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil // it is not there any more, which is said when it is read
	}
	dir := filepath.Dir(real)
	above, err := os.Stat(dir)
	if err != nil || above.Mode().Perm()&0o002 == 0 || above.Mode()&fs.ModeSticky != 0 {
		return nil
	}
	return fault(origin, "", fmt.Sprintf("everybody can put another file here in its place (%s has mode %04o), and it decides what agents may do", dir, above.Mode().Perm()),
		"`chmod go-w "+dir+"`")
}

const exposePathsKey = "isolation.expose_paths"

// merge checks the layers and has koanf merge them.
func (c *Config) merge(central, document *node, environ environment) []*Error {
	fromCentral, given := checkCentral(central, environ)
	check := &checker{userHome: environ.userHome(), settings: map[string]Setting{}}
	checked, _ := check.value(document, schema().root, "")
	fromFile, _ := checked.(map[string]any) // nil for what is no object, which is noted as a fault
	vars := &variables{checker: check}
	if isolation := document.member("isolation"); isolation != nil {
		vars.expose = isolation.member("expose_paths")
	}
	// The list of agents is replaced whole, never merged, so koanf need not copy it about.
	if agents, ok := fromFile["agents"].(map[string]any); ok {
		delete(agents, "agents")
	}
	sortFaults(check.faults)
	check.below(given)
	layers := []koanf.Provider{layer(c.defaults())}
	if len(central.members) > 0 {
		layers = append(layers, layer(fromCentral))
	}
	if len(document.members) > 0 {
		layers = append(layers, layer(fromFile))
	}
	if own := environ.own(); len(own) > 0 {
		layers = append(layers, vars.provider(own))
	}
	k := koanf.New(".")
	for _, provider := range layers {
		// None of the providers fails by itself: they hold what was checked before, or have the checker note what is wrong.
		if err := k.Load(provider, nil); err != nil {
			return []*Error{{Problem: "merging the configuration: " + err.Error(), err: err}}
		}
	}
	if len(check.faults) > 0 {
		return check.faults
	}
	c.settings, c.agents = check.settings, check.agents()
	if err := c.take(k.Raw()); err != nil {
		return []*Error{err}
	}
	return nil
}

// layer is a layer of values that are in memory already, as koanf reads them.
type layer map[string]any

// Read returns the values.
func (l layer) Read() (map[string]any, error) { return l, nil }

// ReadBytes is not used: the values are parsed already.
func (l layer) ReadBytes() ([]byte, error) { return nil, errors.New("the values are parsed already") }

// defaults returns the built-in values of all keys that are not inside a list or below an id.
func (c *Config) defaults() map[string]any {
	out := map[string]any{"plugins": bundled()}
	for _, row := range keys() {
		if row.Default == nil || strings.ContainsAny(row.Name, "[<") {
			continue
		}
		parts := splitName(row.Name)
		m := out
		for _, part := range parts[:len(parts)-1] {
			next, ok := m[part].(map[string]any)
			if !ok {
				next = map[string]any{}
				m[part] = next
			}
			m = next
		}
		m[parts[len(parts)-1]] = row.Default
	}
	out["agents"].(map[string]any)["defaults"].(map[string]any)["workspace"] = c.defaultWorkspace("workspace")
	return out
}

// override puts what the flags say above everything else.
func (c *Config) override(options Options, environ environment) *Error {
	id := options.Agent
	if id == "" {
		id = c.AgentIDs()[0]
	}
	i := c.indexOf(id)
	if i < 0 {
		return c.unknownAgent(id)
	}
	origin := Origin{Source: Flag, Name: "--workspace"}
	path, err := namedPath(options.Workspace, environ)
	if err != nil {
		return &Error{Origin: origin, Problem: err.Error(), err: err}
	}
	c.flagWorkspace, c.flagAgent = Setting{Value: path, Origin: origin}, i
	return nil
}

// CentralFile is where an instance keeps what a fleet has given it.
func CentralFile(home string) string { return filepath.Join(home, "fleet", "central.json") }

// exists reports whether a file is there. One that can't be looked at is: to go on without it would lift what it
// forbids.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// local are the keys that are each machine's own: whom it trusts, and its secrets.
var local = []string{"fleet", "secrets"}

// checkCentral checks what a fleet has given this machine.
func checkCentral(central *node, environ environment) (map[string]any, *checker) {
	check := &checker{userHome: environ.userHome(), settings: map[string]Setting{}}
	for _, m := range central.members {
		if slices.Contains(local, m.key) {
			check.fault(fault(m.origin, m.key, "is each machine's own, and not for a fleet to say",
				"set it in the machine's own configuration"))
		}
	}
	checked, _ := check.value(central, schema().root, "")
	values, _ := checked.(map[string]any) // nil for what is no object, which is noted as a fault
	if agents, ok := values["agents"].(map[string]any); ok {
		delete(agents, "agents")
	}
	sortFaults(check.faults)
	return values, check
}

// below notes what a lower layer sets and this one does not. A list of objects is replaced whole.
func (c *checker) below(lower *checker) {
	c.faults = slices.Concat(lower.faults, c.faults)
	own := maps.Clone(c.settings)
	for key, setting := range lower.settings {
		root, _, _ := strings.Cut(key, "[")
		_, set := own[root]
		if root == agentsKey || root == agentsAlias {
			_, one := own[agentsKey]
			_, other := own[agentsAlias]
			set = one || other
		}
		if !set {
			c.settings[key] = setting
		}
	}
}
