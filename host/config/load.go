package config

import (
	"bytes"
	"cmp"
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

	koanfmaps "github.com/knadh/koanf/maps"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/v2"

	"github.com/picoclaw/picoclaw/internal/smallfile"
)

// LoadOptions select the configuration files, and override settings.
type LoadOptions struct {
	// File is the configuration file from --config; empty for the default.
	File string

	// Workspace is the workspace of Agent from --workspace, absolute or relative.
	Workspace string

	// Isolated overrides isolation.enabled with true.
	Isolated bool

	// Agent is the id of the agent whose workspace is overridden; empty for the first.
	Agent string

	// Central is the fleet's configuration for this machine; empty for <home>/fleet/central.json, if it exists. The
	// file overrides it.
	Central string

	// Project narrows the configuration of all agents; nil for none.
	Project *Project

	// Environ is the environment in the form of [os.Environ]; nil for the process's.
	Environ []string
}

// Load finds, reads and checks the configuration. It returns the first mistake as an [*Error]; [LoadWithAllErrors]
// returns all.
func Load(options LoadOptions) (*Config, error) {
	c, faults := LoadWithAllErrors(options)
	if len(faults) > 0 {
		return nil, faults[0]
	}
	return c, nil
}

// LoadWithAllErrors is like [Load] but returns all mistakes, first by line of the file, then by variable name. With a
// mistake, the configuration is nil. A mistake such as invalid JSON may hide others.
func LoadWithAllErrors(options LoadOptions) (*Config, []*Error) {
	c, err := locateFiles(options)
	if err != nil {
		return nil, []*Error{err}
	}
	if faults := c.readLayers(options); len(faults) > 0 {
		return nil, faults
	}
	return c, nil
}

// locateFiles returns a configuration with the paths of the home and the configuration files.
func locateFiles(options LoadOptions) (*Config, *Error) {
	environ := options.environment()
	home, err := locateHome(environ)
	if err != nil {
		return nil, err
	}
	file, err := findConfigFile(options.File, home, environ)
	if err != nil {
		return nil, err
	}
	central := options.Central
	if central == "" && !home.Fallback {
		if named := FleetConfigPath(home.Path); fileMayExist(named) {
			central = named
		}
	}
	return &Config{home: home, file: file, central: central, project: cmp.Or(options.Project, &Project{})}, nil
}

func (o LoadOptions) environment() environment {
	if o.Environ != nil {
		return o.Environ
	}
	return os.Environ()
}

func (c *Config) readLayers(options LoadOptions) []*Error {
	document, err := readConfigFile(c.file)
	if err != nil {
		return []*Error{err}
	}
	central, err := readConfigFile(c.central)
	if err != nil {
		return []*Error{err}
	}
	environ := options.environment()
	if faults := c.mergeLayers(central, document, environ); len(faults) > 0 {
		return faults
	}
	c.sections.Isolation.Enabled = c.sections.Isolation.Enabled || options.Isolated
	if options.Workspace != "" {
		if err := c.applyWorkspaceFlag(options, environ); err != nil {
			return []*Error{err}
		}
	}
	return nil
}

// maxFileBytes limits a configuration file.
const maxFileBytes = 4 << 20

// readConfigFile parses a configuration file: YAML or JSON with comments, by its extension. Without a path, it returns
// an empty object.
func readConfigFile(path string) (*documentNode, *Error) {
	if path == "" {
		return &documentNode{kind: objectNode}, nil
	}
	origin := Origin{Source: FileSource, Name: path}
	if info, err := os.Stat(path); err == nil {
		if open := checkFileMode(path, info); open != nil {
			return nil, open
		}
	}
	data, err := smallfile.Read(path, maxFileBytes)
	if err != nil {
		return nil, &Error{Origin: origin, Problem: "the configuration file can't be read: " + err.Error(), err: err}
	}
	return parseConfigFile(path, data)
}

// parseConfigFile parses the contents of a configuration file.
func parseConfigFile(path string, data []byte) (*documentNode, *Error) {
	origin := Origin{Source: FileSource, Name: path}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		return nil, &Error{Origin: origin, Problem: "the configuration file is not UTF-8"}
	}
	if ext := strings.ToLower(filepath.Ext(path)); ext == ".yaml" || ext == ".yml" {
		return parseYAML(data, origin)
	}
	return parseJSON(data, origin)
}

// checkFileMode returns an error if every user can write to a configuration file, because the file controls agents. It
// checks nothing on Windows, where modes are meaningless.
func checkFileMode(path string, info fs.FileInfo) *Error {
	if runtime.GOOS == "windows" || !info.Mode().IsRegular() {
		return nil // reading it reports that it is no regular file
	}
	origin := Origin{Source: FileSource, Name: path}
	if mode := info.Mode(); mode.Perm()&0o002 != 0 {
		return newError(origin, "", fmt.Sprintf("every user can write this file (mode %04o), which decides what agents may do",
			mode.Perm()), "`chmod go-w "+path+"`")
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil // missing; reading it reports the error
	}
	dir := filepath.Dir(real)
	above, err := os.Stat(dir)
	if err != nil || above.Mode().Perm()&0o002 == 0 || above.Mode()&fs.ModeSticky != 0 {
		return nil
	}
	return newError(origin, "", fmt.Sprintf("every user can replace this file (%s has mode %04o), which decides what agents may do", dir, above.Mode().Perm()),
		"`chmod go-w "+dir+"`")
}

const exposePathsKey = "isolation.expose_paths"

// mergeLayers checks the layers and merges them with koanf.
func (c *Config) mergeLayers(central, document *documentNode, environ environment) []*Error {
	fromCentral, given := checkFleetConfig(central, environ)
	check := newDocumentChecker(environ)
	fromFile := check.checkDocument(document)
	vars := &environmentLayer{checker: check}
	if isolation := document.findMemberValue("isolation"); isolation != nil {
		vars.expose = isolation.findMemberValue("expose_paths")
	}
	check.addLowerLayer(given)
	layers := []koanf.Provider{memoryLayer(c.defaultValues())}
	if len(central.members) > 0 {
		layers = append(layers, memoryLayer(fromCentral))
	}
	if len(document.members) > 0 {
		layers = append(layers, memoryLayer(fromFile))
	}
	if own := environ.keyVariables(); len(own) > 0 { // sorted, as the checker records their faults in order of names
		layers = append(layers, env.Provider(".", env.Opt{Prefix: variablePrefix, EnvironFunc: func() []string { return own },
			TransformFunc: vars.convertVariable}))
	}
	k := koanf.New(".")
	for _, provider := range layers {
		// Providers never fail: their values are checked, and the checker records faults.
		if err := k.Load(provider, nil); err != nil {
			return []*Error{{Problem: "merging the configuration: " + err.Error(), err: err}}
		}
	}
	if len(check.faults) > 0 {
		return check.faults
	}
	c.settings, c.agents = check.settings, check.agentObjects()
	if err := c.decodeMergedLayers(k.Raw()); err != nil {
		return []*Error{err}
	}
	return nil
}

// memoryLayer is a koanf provider of values in memory.
type memoryLayer map[string]any

// Read returns the values.
func (l memoryLayer) Read() (map[string]any, error) { return l, nil }

// ReadBytes returns an error, since the values have no encoded form.
func (l memoryLayer) ReadBytes() ([]byte, error) {
	return nil, errors.New("the values are parsed already")
}

// defaultValues returns the defaults of all keys that are not in lists or objects by id.
func (c *Config) defaultValues() map[string]any {
	flat := map[string]any{}
	for _, row := range keyTable() {
		if row.Default != nil && !strings.ContainsAny(row.Name, "[<") {
			flat[row.Name] = row.Default
		}
	}
	flat[defaultsPrefix+"workspace"] = c.defaultWorkspacePath("workspace")
	out := koanfmaps.Unflatten(flat, ".")
	out["plugins"] = bundledPluginGrants()
	return out
}

// applyWorkspaceFlag applies --workspace, which overrides all layers.
func (c *Config) applyWorkspaceFlag(options LoadOptions, environ environment) *Error {
	id := cmp.Or(options.Agent, c.AgentIDs()[0])
	i := c.agentIndex(id)
	if i < 0 {
		return c.unknownAgentError(id)
	}
	origin := Origin{Source: FlagSource, Name: "--workspace"}
	path, err := absoluteFlagPath(options.Workspace, environ)
	if err != nil {
		return &Error{Origin: origin, Problem: err.Error(), err: err}
	}
	c.flagWorkspace, c.flagAgent = Setting{Value: path, Origin: origin}, i
	return nil
}

// FleetConfigPath returns the path at which a home has the fleet's configuration.
func FleetConfigPath(home string) string { return filepath.Join(home, "fleet", "central.json") }

// fileMayExist reports whether a file exists or is inaccessible: ignoring such a file would lift its restrictions.
func fileMayExist(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// localKeys are keys that a fleet's configuration must not set.
var localKeys = []string{"fleet", "secrets"}

// checkFleetConfig checks the fleet's configuration, and returns its converted values and the checker with its
// settings.
func checkFleetConfig(central *documentNode, environ environment) (map[string]any, *documentChecker) {
	check := newDocumentChecker(environ)
	for _, m := range central.members {
		if slices.Contains(localKeys, m.key) {
			check.addFault(newError(m.origin, m.key, "can't be set by a fleet",
				"set it in the machine's own configuration"))
		}
	}
	return check.checkDocument(central), check
}

// addLowerLayer adds the settings of a lower layer that this layer does not set. This layer's lists of objects replace
// those of the lower layer.
func (c *documentChecker) addLowerLayer(lower *documentChecker) {
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
