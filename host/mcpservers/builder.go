package mcpservers

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/host/store"
	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// PackageBuilder builds plugin packages of MCP servers.
type PackageBuilder struct {
	Store    *store.Store
	Run      func(context.Context, session.OperatorProgram) error // runs a program in a sandbox
	Program  string                                               // path of the plugin mcp
	Progress func(text string)
	Logs     string // directory for the output of failed package managers
}

// PackageReview describes a built package for the operator's review before its installation.
type PackageReview struct {
	Info     *ServerInfo
	Fetched  string            // fetched package with its version; empty for none
	Claims   map[string]string // claims of arguments, by "tool.field"
	Names    map[string]string // the server's tool names, by picoclaw's
	LeftOut  []string          // tools that are not offered, with reasons
	Warnings []string          // suspicious texts
}

// Limits of fetching and probing.
const (
	fetchTimeout   = 10 * time.Minute
	probeTimeout   = 90 * time.Second
	maxOutputBytes = 8 << 20 // bytes
)

// programID is the id of picoclaw's plugin that runs MCP servers.
const programID = "mcp"

// BuildPackage builds a plugin package from a server's package and tools, without access to agents' data. shadows
// returns the plugin that has another tool with the same name.
func (m *PackageBuilder) BuildPackage(ctx context.Context, id string, s *ServerSpec, shadows func(string) string) (*store.StagedPackage, *PackageReview, error) {
	if err := s.Validate(); err != nil {
		return nil, nil, err
	}
	if err := pluginpb.CheckPluginID(id); err != nil {
		return nil, nil, err
	}
	r := &PackageReview{}
	p, err := m.Store.StagePackageFunc(s.SourceForDisplay(), func(p *store.StagedPackage) error {
		p.Program = programID
		return m.buildPackageDir(ctx, p.StagingDir(), id, s, r)
	})
	if err != nil {
		return nil, nil, err
	}
	p.Agents = s.Agents
	r.Warnings = slices.Concat(r.Warnings, SuspiciousTextWarnings(r.Info, shadows), s.secretWarnings())
	return p, r, nil
}

// buildPackageDir fetches or copies the server's files to dir, asks the server for its tools, and writes the manifest.
// It completes the report r.
func (m *PackageBuilder) buildPackageDir(ctx context.Context, dir, id string, s *ServerSpec, r *PackageReview) error {
	d := serverDefinition{Env: maps.Clone(s.Env), URL: s.URL, Headers: s.Headers, Roots: s.Roots, Asked: s}
	data := filepath.Join(dir, store.DataDir)
	var known knownServerSettings
	var programs []string
	version := ""
	if s.URL == "" {
		plan, err := planInstall(s)
		if err != nil {
			return err
		}
		browser, err := browserEnv(s)
		if err != nil {
			return err
		}
		if err := os.Mkdir(data, 0o700); err != nil {
			return err
		}
		if plan.fetch != nil {
			command, fetched, err := m.installPackage(ctx, plan.fetch, s, data)
			if err != nil {
				return err
			}
			version = fetched
			if usesBrowser(data) && !s.Browser {
				r.Warnings = append(r.Warnings, "it has a library for browsers, whose browser is not downloaded; --browser lets "+
					"it start this machine's Chromium")
			}
			if browser != nil && plan.fetch.manager == "npm" {
				browsers, addErr := addPlaywrightBrowsers(data, browser["CHROME_PATH"])
				if addErr != nil {
					return addErr
				}
				browser["PLAYWRIGHT_BROWSERS_PATH"] = "{{data}}/" + browsers
			}
			d.Package, d.Command = plan.fetch.name+" "+fetched, slices.Concat(command, plan.command)
			if known, err = lookupKnownServer(plan.fetch.name); err != nil {
				return err
			}
		} else {
			d.Command = plan.command
			if err := plan.copyFiles(data); err != nil {
				return err
			}
		}
		if plan.name != "" {
			programs = []string{plan.name}
		}
		d.Env = mergeEnv(known.Env, plan.env, browser, s.Env)
	}
	var err error
	if r.Info, err = m.probeServer(ctx, dir, id, s, &d); err != nil {
		return err
	}
	b, err := buildManifest(id, s, r.Info, programs, known.Claims)
	if err != nil {
		return err
	}
	r.Fetched, r.Claims, r.LeftOut, r.Names = d.Package, b.claims, b.leftOut, map[string]string{}
	for here, pin := range b.tools {
		r.Names[here] = pin.Name
	}
	d.Tools = b.tools
	return writeManifestFiles(dir, b.manifest, &d, cmp.Or(version, r.Info.Version))
}

// mergeEnv merges environments. Later values replace earlier ones.
func mergeEnv(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, one := range all {
		maps.Copy(out, one)
	}
	return out
}

// notInVersions matches characters that are not allowed in versions.
var notInVersions = lazyregexp.New(`[^0-9A-Za-z.-]+`)

// writeManifestFiles writes server.json and plugin.json. The version includes a hash of the accepted tools and the
// fetched files, so that a release with other descriptions or dependencies gets another version.
func writeManifestFiles(dir string, manifest *pluginpb.Manifest, d *serverDefinition, version string) error {
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	offered, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	data, err := store.HashDataDir(dir)
	if err != nil {
		return err
	}
	version = strings.Trim(notInVersions().ReplaceAllString(version, "-"), "-.")
	if len(version) > 64 || version == "" {
		version = "0"
	}
	manifest.Version = version + "+" + shortHash(slices.Concat(offered, text, []byte(data)))
	if offered, err = json.MarshalIndent(manifest, "", "  "); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, DefinitionFile), append(text, '\n'), 0o400); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, pluginpb.ManifestFile), append(offered, '\n'), 0o400)
}

// installPackage installs a package in the directory data with a package manager. It returns the server's command and the version.
func (m *PackageBuilder) installPackage(
	ctx context.Context, f *packageSource, s *ServerSpec, data string,
) (command []string, version string, err error) {
	m.Progress(fmt.Sprintf("fetching %s by %s", f.spec, f.manager))
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "LANG=C.UTF-8"}
	if _, err := os.Stat(systemCertificates); err == nil { // the registry may use a private authority
		env = append(env, "NODE_EXTRA_CA_CERTS="+systemCertificates, "PIP_CERT="+systemCertificates)
	}
	var args []string
	switch f.manager {
	case "npm":
		npm, err := findSystemProgram("npm", "npm")
		if err != nil {
			return nil, "", err
		}
		registry, err := queryProgramSetting("npm", "config", "get", "registry")
		if err != nil {
			return nil, "", err
		}
		env = append(env, "npm_config_cache=/tmp/npm", "npm_config_registry="+registry, "npm_config_update_notifier=false")
		env = append(env, skipBrowserDownloads...)
		prefix := filepath.Dir(filepath.Dir(session.FindSystemProgram("node")))
		if _, err := os.Stat(filepath.Join(prefix, "include", "node", "node.h")); err == nil { // no download of headers
			env = append(env, "npm_config_nodedir="+prefix)
		}
		args = []string{npm, "install", "--prefix", data, "--omit=dev", "--no-audit", "--no-fund",
			fmt.Sprintf("--ignore-scripts=%t", s.IgnoreScripts), "--loglevel=error", "--", f.spec}
	default:
		python, err := findSystemProgram("python3", "python3-pip")
		if err != nil {
			return nil, "", err
		}
		env = append(env, "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_INPUT=1")
		args = []string{python, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--no-compile", "--target",
			filepath.Join(data, "site"), "--", f.spec}
	}
	for name, value := range s.Env { // which install scripts may need
		env = append(env, name+"="+value)
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	if said, err := m.runSandboxed(ctx, f.manager, args, env, nil, session.OperatorProgram{
		ReadWrite: []string{data}, HostsFrom: []string{f.manager},
	}, data, io.Discard); err != nil {
		remedy := ""
		if strings.Contains(said, "npm error command ") {
			remedy = "\nan install script failed; --ignore-scripts adds the server without running install scripts"
		}
		return nil, "", fmt.Errorf("fetch %s: %w%s%s", f.spec, err, m.logAndSummariseOutput(f.manager, said), remedy)
	}
	if err := removeSymlinks(data); err != nil { // such as node_modules/.bin, which install scripts need
		return nil, "", err
	}
	return f.findStartCommand(data)
}

// systemCertificates is the file with this machine's trusted certificates.
const systemCertificates = "/etc/ssl/certs/ca-certificates.crt"

// queryProgramSetting asks a program, such as npm, for one of its settings.
func queryProgramSetting(name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = "/"
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("ask %s for its settings: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// probeServer starts a server in a sandbox and asks for its tools. The sandbox has an empty workspace, and the network
// access that the server will get.
func (m *PackageBuilder) probeServer(ctx context.Context, dir, id string, s *ServerSpec, d *serverDefinition) (*ServerInfo, error) {
	m.Progress("starting the server in its own sandbox")
	scratch, err := os.MkdirTemp(dir, "probe")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	input := struct {
		*serverDefinition
		ID, Workspace, State, Data string
	}{serverDefinition: d, ID: id, Workspace: filepath.Join(scratch, "workspace"), State: filepath.Join(scratch, "state")}
	for _, made := range []string{input.Workspace, input.State} {
		if err = os.Mkdir(made, 0o700); err != nil {
			return nil, err
		}
	}
	a := session.OperatorProgram{ReadWrite: []string{scratch}, ReadOnly: []string{m.Program}, Hosts: s.allowedHosts(), Secrets: s.Secrets}
	if s.URL != "" {
		a.Login = id
	} else {
		input.Data = filepath.Join(dir, store.DataDir)
		a.ReadOnly = append(a.ReadOnly, input.Data)
	}
	in, err := json.Marshal(input)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var out bytes.Buffer
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"}
	output, err := m.runSandboxed(ctx, "server", []string{m.Program, "probe"}, env, in, a, scratch, &out)
	if err != nil {
		remedy := missingDirHint(d.Command)
		if s.URL != "" {
			remedy = fmt.Sprintf("\ncompare the URL with the server's documentation, and check whether this machine reaches it: curl -i %s", s.URL)
		}
		return nil, fmt.Errorf("the server can't be probed: %w%s%s", err, outputSuffix(output[max(0, len(output)-maxOutputShown):]), remedy)
	}
	info := new(ServerInfo)
	if err := json.Unmarshal(out.Bytes(), info); err != nil {
		return nil, fmt.Errorf("the server can't be probed: its response is invalid: %w", err)
	}
	return info, nil
}

// missingDirHint returns a hint if an argument of the command names a directory that the sandbox lacks.
func missingDirHint(command []string) string {
	for _, arg := range command[min(1, len(command)):] {
		if info, err := os.Stat(arg); err == nil && filepath.IsAbs(arg) && info.IsDir() {
			return fmt.Sprintf("\nthe server can't access %s: write {{workspace}} for the agent's workspace, or {{state}} for the server's own directory", arg)
		}
	}
	return ""
}

// runSandboxed runs a program in a sandbox with its standard output in output, and returns the end of its standard
// error.
func (m *PackageBuilder) runSandboxed(
	ctx context.Context, name string, args, env []string, stdin []byte, a session.OperatorProgram, dir string, output io.Writer,
) (stderr string, err error) {
	files := map[string]*os.File{}
	for _, stream := range []string{"in", "out", "err"} {
		f, createErr := os.CreateTemp("", "picoclaw-"+stream)
		if createErr != nil {
			return "", createErr
		}
		defer func() { _ = f.Close() }()
		if err = os.Remove(f.Name()); err != nil {
			return "", err
		}
		files[stream] = f
	}
	if _, err = files["in"].WriteAt(stdin, 0); err != nil { // the offset stays at the start
		return "", err
	}
	a.Name = name
	a.Command = &exec.Cmd{
		Path: args[0], Args: args, Env: env, Dir: dir, Stdin: files["in"], Stdout: files["out"], Stderr: files["err"],
	}
	err = m.Run(ctx, a)
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("it took too long")
	}
	const maxStderr = 64 << 10
	if info, statErr := files["err"].Stat(); statErr == nil && info.Size() > 0 {
		text := make([]byte, min(maxStderr, info.Size()))
		n, _ := files["err"].ReadAt(text, info.Size()-int64(len(text)))
		stderr = strings.TrimSpace(string(text[:n]))
	}
	if _, seekErr := files["out"].Seek(0, io.SeekStart); err == nil && seekErr == nil {
		n, copyErr := io.Copy(output, io.LimitReader(files["out"], maxOutputBytes+1))
		if err = copyErr; err == nil && n > maxOutputBytes {
			err = fmt.Errorf("it wrote more than %d bytes", maxOutputBytes)
		}
	}
	return stderr, err
}
