package pluginpb

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// ManifestFile is the file name of a plugin's manifest, in the directory of its binary.
const ManifestFile = "plugin.json"

// Manifest describes a plugin. The plugin prints it (`describe`). The host reads it from plugin.json without executing
// the plugin, and compares it with the running plugin's.
type Manifest struct {
	ID       string        `json:"id"`      // such as "filesystem"; also the binary's name
	Version  string        `json:"version"` // semantic version
	Doc      string        `json:"doc"`     // one sentence for the operator
	Protocol ProtocolRange `json:"protocol"`
	Grants   Grant         `json:"grants"` // requested permissions
	Tools    []ToolSpec    `json:"tools"`

	Resources []ToolSpec `json:"resources,omitempty"` // data that clients read by URI
	Prompts   []ToolSpec `json:"prompts,omitempty"`   // messages that clients insert for their users

	// FullNames says that tools are called only by their full names, such as "web.search", because their short names
	// may collide with other plugins'.
	FullNames bool `json:"full_names,omitempty"`

	// Config is the schema of the operator's settings for the plugin (plugins.<id>.config); nil if it has none.
	Config *Schema `json:"config,omitempty"`

	// Platforms lists the program for each platform, such as "linux/amd64". The package adds it to the manifest.
	// Without it, the program is the file named like the plugin's id.
	Platforms map[string]PackageBinary `json:"platforms,omitempty"`
}

// PackageBinary is a program in a plugin package.
type PackageBinary struct {
	Path   string `json:"path"`   // below the package's directory, with slashes
	SHA256 string `json:"sha256"` // of its contents, in hexadecimal
}

// ProtocolRange is an inclusive range of versions of the plugin protocol.
type ProtocolRange struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

// CurrentProtocol returns the range that contains only [ProtocolVersion].
func CurrentProtocol() ProtocolRange {
	return ProtocolRange{Min: ProtocolVersion, Max: ProtocolVersion}
}

// Check returns an error if the range does not contain [ProtocolVersion].
func (r ProtocolRange) Check() error {
	switch {
	case r.Max < ProtocolVersion:
		return fmt.Errorf("it speaks version %d of the plugin protocol, this picoclaw version %d; "+
			"rebuild the plugin with the current SDK", r.Max, ProtocolVersion)
	case r.Min > ProtocolVersion:
		return fmt.Errorf("it speaks version %d of the plugin protocol, this picoclaw version %d; update picoclaw",
			r.Min, ProtocolVersion)
	}
	return nil
}

// Kinds of specifications. In calls, the name of a resource or prompt is its kind, ":" and its name.
const (
	ToolKind     = ""
	ResourceKind = "resource"
	PromptKind   = "prompt"
)

// CallNamePrefix returns "" for tools, else the kind plus ":".
func CallNamePrefix(kind string) string {
	if kind == ToolKind {
		return ""
	}
	return kind + ":"
}

// ToolSpec describes one tool, resource or prompt.
type ToolSpec struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`

	// Sets are the names of the tool sets that contain the tool. A tool without sets is in all.
	Sets []string `json:"sets,omitempty"`

	// Permissions, Risk ("low", "medium", "high") and SideEffects inform the operator about the tool.
	Permissions []string `json:"permissions,omitempty"`
	Risk        string   `json:"risk,omitempty"`
	SideEffects []string `json:"side_effects,omitempty"`

	// The hints help the agent's client decide when to ask its user.
	ReadOnly    bool `json:"read_only,omitempty"`
	Destructive bool `json:"destructive,omitempty"`
	Idempotent  bool `json:"idempotent,omitempty"`
	OpenWorld   bool `json:"open_world,omitempty"`
	// LongRunning says that calls usually take longer than a minute. For clients with MCP's tasks, each is a task.
	LongRunning bool `json:"long_running,omitempty"`

	// Input is the schema of the arguments, with claims: an object without unknown properties.
	Input *Schema `json:"input"`
	// Output is the schema of the structured result; nil for a tool that answers with text only.
	Output *Schema `json:"output,omitempty"`
	// TextResult says that the text is the complete result and the structured form only adds information.
	TextResult bool `json:"text_result,omitempty"`

	// URI is a resource's URI, or a template with variables that are the properties of Input; see [URITemplate].
	URI string `json:"uri,omitempty"`
	// MediaType is a resource's type, such as "text/plain"; empty if it is unknown or varies.
	MediaType string `json:"media_type,omitempty"`
}

// maxName is the maximum length of the name of a plugin or tool, in bytes.
const maxName = 64

// isValidName reports whether a name is short enough, starts with a lower-case letter and has only lower-case letters,
// digits and the characters in others.
func isValidName(name, others string) bool {
	return name != "" && name[0] >= 'a' && name[0] <= 'z' && len(name) <= maxName &&
		strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyz0123456789"+others) == ""
}

// maxTools is the maximum number of a plugin's tools, which fill a client's context.
const maxTools = 256

// ParseManifest parses and checks a manifest, except its schemas: see [ToolSpec.CheckSchemas].
func ParseManifest(data []byte) (*Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &m); err != nil {
		return nil, fmt.Errorf("not a plugin manifest: %w", err)
	}
	if err := m.Check(); err != nil {
		return nil, err
	}
	return &m, nil
}

// MarshalWithoutPlatforms returns the manifest as JSON, without the package's Platforms.
func (m *Manifest) MarshalWithoutPlatforms() ([]byte, error) {
	of := *m
	of.Platforms = nil
	return json.Marshal(&of)
}

// Equal reports whether two manifests describe the same plugin, apart from their packages and the order of keys.
func (m *Manifest) Equal(other *Manifest) (bool, error) {
	var said [2]any
	for i, one := range []*Manifest{m, other} {
		text, err := one.MarshalWithoutPlatforms()
		if err != nil {
			return false, err
		}
		if err := json.Unmarshal(text, &said[i]); err != nil {
			return false, err
		}
	}
	return reflect.DeepEqual(said[0], said[1]), nil
}

// CheckPluginID returns an error for an invalid plugin id.
func CheckPluginID(id string) error {
	if !isValidName(id, "_-") {
		return fmt.Errorf("plugin id %q: want lower-case letters, digits, '-' and '_', starting with a letter, at most 64",
			id)
	}
	return nil
}

// Check returns an error for an invalid manifest. It does not check schemas.
func (m *Manifest) Check() error {
	if err := CheckPluginID(m.ID); err != nil {
		return err
	}
	if m.Version == "" {
		return fmt.Errorf("plugin %s has no version", m.ID)
	}
	if m.Protocol.Min < 1 || m.Protocol.Max < m.Protocol.Min {
		return fmt.Errorf("plugin %s: protocol range %d to %d is not a range", m.ID, m.Protocol.Min, m.Protocol.Max)
	}
	if !slices.Contains(workspaces, m.Grants.Workspace) {
		return fmt.Errorf("plugin %s asks for workspace %q: want none, ro or rw", m.ID, m.Grants.Workspace)
	}
	if len(m.Tools)+len(m.Resources)+len(m.Prompts) == 0 {
		return fmt.Errorf("plugin %s offers no tools", m.ID)
	}
	return errors.Join(CheckTools(m.ID, m.Tools), checkSpecs(m.ID, ResourceKind, m.Resources), checkSpecs(m.ID, PromptKind, m.Prompts))
}

// AllSpecs returns the specifications of tools, resources and prompts.
func (m *Manifest) AllSpecs() []*ToolSpec {
	var all []*ToolSpec
	for _, specs := range [][]ToolSpec{m.Tools, m.Resources, m.Prompts} {
		for i := range specs {
			all = append(all, &specs[i])
		}
	}
	return all
}

// CheckTools returns an error for invalid tools. It does not check schemas.
func CheckTools(plugin string, tools []ToolSpec) error { return checkSpecs(plugin, "tool", tools) }

// checkSpecs returns an error for invalid specifications of a kind. It does not check schemas.
func checkSpecs(plugin, kind string, specs []ToolSpec) error {
	if len(specs) > maxTools {
		return fmt.Errorf("plugin %s offers %d %ss; at most %d are allowed", plugin, len(specs), kind, maxTools)
	}
	seen := make(map[string]bool, len(specs))
	for i := range specs {
		t := &specs[i]
		if seen[t.Name] {
			return fmt.Errorf("plugin %s offers the %s %s twice", plugin, kind, t.Name)
		}
		seen[t.Name] = true
		err := t.validate()
		if err == nil && kind == ResourceKind {
			_, err = ParseURITemplate(t.URI)
		}
		if err != nil {
			return fmt.Errorf("plugin %s: %w", plugin, err)
		}
	}
	return nil
}

func (s *ToolSpec) validate() error {
	if !isValidName(s.Name, "_") {
		return fmt.Errorf("tool name %q: want lower-case letters, digits and '_', starting with a letter, at most 64", s.Name)
	}
	if s.Doc == "" {
		return fmt.Errorf("tool %s has no doc", s.Name)
	}
	if s.Input == nil || !bytes.HasPrefix(s.Input.text, []byte("{")) {
		return fmt.Errorf("tool %s: the input schema must be an object", s.Name)
	}
	return nil
}

// CheckSchemas returns an error if the input or output schema is invalid.
func (s *ToolSpec) CheckSchemas() error {
	_, _, err := s.CompileInputSchema()
	if err == nil && s.Output != nil {
		if _, err = s.Output.Parse(); err == nil {
			err = s.Output.CheckValidationCost()
		}
		if err != nil {
			err = fmt.Errorf("tool %s: the output schema: %w", s.Name, err)
		}
	}
	return err
}

// CompileInputSchema checks the tool's input schema. It returns a reader for arguments, and the arguments with claims.
func (s *ToolSpec) CompileInputSchema() (*ArgumentParser, []ClaimedArgument, error) {
	input, err := s.Input.Parse()
	if err != nil {
		return nil, nil, fmt.Errorf("tool %s: read the input schema: %w", s.Name, err)
	}
	if err = s.Input.CheckValidationCost(); err != nil {
		return nil, nil, fmt.Errorf("tool %s: the input schema: %w", s.Name, err)
	}
	if input.Type != "object" {
		return nil, nil, fmt.Errorf("tool %s: the input schema must be an object", s.Name)
	}
	claims, err := FindClaims(input)
	if err != nil {
		return nil, nil, fmt.Errorf("tool %s: %w", s.Name, err)
	}
	reader, err := NewArgumentReader(input)
	if err != nil {
		return nil, nil, fmt.Errorf("tool %s: %w", s.Name, err)
	}
	return reader, claims, nil
}

// PluginProgramName returns the file name of a plugin's program on an operating system: its id, with .exe on Windows.
func PluginProgramName(id, goos string) string {
	if goos == "windows" {
		return id + ".exe"
	}
	return id
}

// Levels of access to the agent's workspace. Each includes the previous ones.
const (
	NoWorkspace        = "none"
	ReadOnlyWorkspace  = "ro"
	ReadWriteWorkspace = "rw"
)

// Grant is a set of permissions of a plugin: requested, granted or effective. The zero value allows nothing.
type Grant struct {
	Workspace string   `json:"workspace"`          // "none", "ro" or "rw": access to the workspace and whitelisted paths
	Exec      bool     `json:"exec"`               // start other programs
	Programs  []string `json:"programs,omitempty"` // with exec: allowed programs; empty allows all
	Network   bool     `json:"network"`            // use the network
	Hosts     []string `json:"hosts,omitempty"`    // with network: allowed hosts; empty allows all
	State     bool     `json:"state,omitempty"`    // keep files between runs
	Takeback  bool     `json:"takeback,omitempty"` // use the undo store
	Env       []string `json:"env,omitempty"`      // names of environment variables
	Secrets   []string `json:"secrets,omitempty"`  // names of usable secrets; "*" for all
}

// Intersect returns the permissions that both grants contain. It sorts the lists.
func (g Grant) Intersect(other Grant) Grant {
	out := Grant{
		Workspace: NoWorkspace,
		Exec:      g.Exec && other.Exec,
		Network:   g.Network && other.Network,
		State:     g.State && other.State,
		Takeback:  g.Takeback && other.Takeback,
		Env:       intersectNames(g.Env, other.Env),
		Secrets:   intersectSecrets(g.Secrets, other.Secrets),
	}
	if rank := min(workspaceRank(g.Workspace), workspaceRank(other.Workspace)); rank > 0 {
		out.Workspace = workspaces[rank]
	}
	if out.Exec {
		out.Programs, out.Exec = intersectAllowLists(g.Programs, other.Programs)
	}
	if out.Network {
		out.Hosts, out.Network = intersectAllowLists(g.Hosts, other.Hosts)
	}
	return out
}

// intersectAllowLists intersects two lists, where an empty one allows all. left is false if the intersection allows
// nothing.
func intersectAllowLists(a, b []string) (both []string, left bool) {
	switch {
	case len(a) == 0:
		return intersectNames(b, b), true
	case len(b) == 0:
		return intersectNames(a, a), true
	}
	both = intersectNames(a, b)
	return both, len(both) > 0
}

var workspaces = []string{NoWorkspace, ReadOnlyWorkspace, ReadWriteWorkspace}

// workspaceRank returns the rank of a workspace access level. Unknown levels rank as none.
func workspaceRank(access string) int { return max(0, slices.Index(workspaces, access)) }

// intersectNames returns the names in both lists, sorted; nil if there are none.
func intersectNames(a, b []string) (both []string) {
	for _, name := range slices.Sorted(slices.Values(a)) {
		if slices.Contains(b, name) {
			both = append(both, name)
		}
	}
	return slices.Compact(both)
}

// AnySecret is the name in a list of secrets that allows all of them.
const AnySecret = "*"

// intersectSecrets intersects two lists of secrets, either of which may contain AnySecret.
func intersectSecrets(a, b []string) []string {
	switch {
	case slices.Contains(a, AnySecret):
		return intersectNames(b, b)
	case slices.Contains(b, AnySecret):
		return intersectNames(a, a)
	}
	return intersectNames(a, b)
}
