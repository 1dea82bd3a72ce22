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

// Maker makes packages of servers.
type Maker struct {
	Store    *store.Store
	Run      func(context.Context, session.Apart) error // runs a program in a sandbox of its own
	Program  string                                     // the plugin mcp's
	Progress func(text string)
	Logs     string // the directory where all is kept that a package manager has said that failed
}

// Report is what there is to know of a package before it is installed.
type Report struct {
	Said     *Said
	Fetched  string            // the package that was fetched, with its version; empty for none
	Claims   map[string]string // how arguments are guarded, by "tool.field"
	Names    map[string]string // the server's names of tools, by theirs here
	LeftOut  []string          // tools that are not offered, and why
	Warnings []string          // what is suspicious in what it says
}

// The bounds of looking at a server.
const (
	fetchTime = 10 * time.Minute
	probeTime = 90 * time.Second
	mostSaid  = 8 << 20 // bytes
)

// programID is the plugin of picoclaw's own that runs servers.
const programID = "mcp"

// Make fetches what a server takes, has it say what it offers, and makes a package of it. Neither sees anything of an
// agent's. shadows returns who else has a tool of a name.
func (m *Maker) Make(ctx context.Context, id string, s *Spec, shadows func(string) string) (*store.Package, *Report, error) {
	if err := s.Check(); err != nil {
		return nil, nil, err
	}
	if err := pluginpb.CheckID(id); err != nil {
		return nil, nil, err
	}
	r := &Report{}
	p, err := m.Store.Build(s.Source(), func(p *store.Package) error {
		p.Program = programID
		return m.fill(ctx, p.Dir(), id, s, r)
	})
	if err != nil {
		return nil, nil, err
	}
	p.Agents = s.Agents
	r.Warnings = append(Review(r.Said, shadows), s.readable()...)
	return p, r, nil
}

// fill makes a package in a directory.
func (m *Maker) fill(ctx context.Context, dir, id string, s *Spec, r *Report) error {
	d := definition{Env: maps.Clone(s.Env), URL: s.URL, Headers: s.Headers, Roots: s.Roots, Asked: s}
	data := filepath.Join(dir, store.DataDir)
	var known wellKnown
	var programs []string
	version := ""
	if s.URL == "" {
		plan, err := plan(s)
		if err != nil {
			return err
		}
		if err := os.Mkdir(data, 0o700); err != nil {
			return err
		}
		if plan.fetch != nil {
			command, fetched, err := m.fetch(ctx, plan.fetch, data)
			if err != nil {
				return err
			}
			version = fetched
			d.Package, d.Command = plan.fetch.name+" "+fetched, append(command, plan.command...)
			if known, err = knownOf(plan.fetch.name); err != nil {
				return err
			}
		} else {
			d.Command = plan.command
			if err := plan.copyIn(data); err != nil {
				return err
			}
		}
		if plan.name != "" {
			programs = []string{plan.name}
		}
		d.Env = merged(known.Env, plan.env, s.Env)
	}
	var err error
	if r.Said, err = m.probe(ctx, dir, id, s, &d); err != nil {
		return err
	}
	b, err := build(id, s, r.Said, programs, known.Claims)
	if err != nil {
		return err
	}
	r.Fetched, r.Claims, r.LeftOut, r.Names = d.Package, b.claims, b.leftOut, map[string]string{}
	for here, pin := range b.tools {
		r.Names[here] = pin.Name
	}
	d.Tools = b.tools
	return m.write(dir, b.manifest, &d, cmp.Or(version, r.Said.Version))
}

func merged(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, one := range all {
		maps.Copy(out, one)
	}
	return out
}

var notInVersions = lazyregexp.New(`[^0-9A-Za-z.-]+`)

// write writes what makes a plugin of a directory. What was accepted and what was fetched are a part of the version, so
// that the same release of a server that describes its tools in other words, or takes other packages, is another here.
func (m *Maker) write(dir string, manifest *pluginpb.Manifest, d *definition, version string) error {
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	offered, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	data, err := store.DataHash(dir)
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

// fetch has a package manager put a package into data.
func (m *Maker) fetch(ctx context.Context, f *fetch, data string) (command []string, version string, err error) {
	m.Progress(fmt.Sprintf("fetching %s by %s", f.spec, f.manager))
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "LANG=C.UTF-8"}
	if _, err := os.Stat(systemCertificates); err == nil { // a registry may be behind somebody's own authority
		env = append(env, "NODE_EXTRA_CA_CERTS="+systemCertificates, "PIP_CERT="+systemCertificates)
	}
	var args []string
	switch f.manager {
	case "npm":
		npm, err := systemProgram("npm", "npm")
		if err != nil {
			return nil, "", err
		}
		registry, err := setting("npm", "config", "get", "registry")
		if err != nil {
			return nil, "", err
		}
		env = append(env, "npm_config_cache=/tmp/npm", "npm_config_registry="+registry, "npm_config_update_notifier=false")
		args = []string{npm, "install", "--prefix", data, "--omit=dev", "--no-audit", "--no-fund", "--no-bin-links",
			"--loglevel=error", "--", f.spec}
	default:
		python, err := systemProgram("python3", "python3-pip")
		if err != nil {
			return nil, "", err
		}
		env = append(env, "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_INPUT=1")
		args = []string{python, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--no-compile", "--target",
			filepath.Join(data, "site"), "--", f.spec}
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	if said, err := m.run(ctx, f.manager, args, env, nil, session.Apart{
		ReadWrite: []string{data}, From: []string{f.manager},
	}, data, io.Discard); err != nil {
		return nil, "", fmt.Errorf("fetch %s: %w%s", f.spec, err, m.told(f.manager, said))
	}
	return f.fetched(data)
}

// systemCertificates are whom this machine believes.
const systemCertificates = "/etc/ssl/certs/ca-certificates.crt"

// setting asks a program of the operator's for one of its settings.
func setting(name string, args ...string) (string, error) {
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

// probe has a server say what it offers, in a sandbox with nothing of anybody's: an empty workspace, and the network
// that it is to be granted.
func (m *Maker) probe(ctx context.Context, dir, id string, s *Spec, d *definition) (*Said, error) {
	m.Progress("starting the server in a sandbox of its own")
	scratch, err := os.MkdirTemp(dir, "probe")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	asked := struct {
		*definition
		ID, Workspace, State, Data string
	}{definition: d, ID: id, Workspace: filepath.Join(scratch, "workspace"), State: filepath.Join(scratch, "state")}
	for _, made := range []string{asked.Workspace, asked.State} {
		if err := os.Mkdir(made, 0o700); err != nil {
			return nil, err
		}
	}
	a := session.Apart{ReadWrite: []string{scratch}, ReadOnly: []string{m.Program}, Hosts: s.hosts(), Secrets: s.Secrets}
	if s.URL == "" {
		asked.Data = filepath.Join(dir, store.DataDir)
		a.ReadOnly = append(a.ReadOnly, asked.Data)
	}
	in, err := json.Marshal(asked)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	var out bytes.Buffer
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"}
	words, err := m.run(ctx, "server", []string{m.Program, "probe"}, env, in, a, scratch, &out)
	if err != nil {
		cure := absent(d.Command)
		if s.URL != "" {
			cure = fmt.Sprintf("\nsee whether the URL is the one in the server's documentation, and whether this machine reaches it: curl -i %s", s.URL)
		}
		return nil, fmt.Errorf("the server can't be looked at: %w%s%s", err, quoted(words[max(0, len(words)-mostWords):]), cure)
	}
	said := new(Said)
	if err := json.Unmarshal(out.Bytes(), said); err != nil {
		return nil, fmt.Errorf("the server can't be looked at: what it said is not readable: %w", err)
	}
	return said, nil
}

// absent says which of a command's arguments name what the sandbox does not have.
func absent(command []string) string {
	for _, arg := range command[min(1, len(command)):] {
		if info, err := os.Stat(arg); err == nil && filepath.IsAbs(arg) && info.IsDir() {
			return fmt.Sprintf("\nthe server sees nothing of %s: write {{workspace}} for the agent's workspace, or {{state}} for a directory of its own", arg)
		}
	}
	return ""
}

// run runs a program apart. It returns the end of what that has said on its standard error.
func (m *Maker) run(
	ctx context.Context, name string, args, env []string, stdin []byte, a session.Apart, dir string, to io.Writer,
) (said string, err error) {
	files := map[string]*os.File{}
	for _, stream := range []string{"in", "out", "err"} {
		f, err := os.CreateTemp("", "picoclaw-"+stream)
		if err != nil {
			return "", err
		}
		defer func() { _ = f.Close() }()
		if err := os.Remove(f.Name()); err != nil {
			return "", err
		}
		files[stream] = f
	}
	if _, err := files["in"].Write(stdin); err != nil {
		return "", err
	}
	if _, err := files["in"].Seek(0, io.SeekStart); err != nil {
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
	const most = 64 << 10
	if info, statErr := files["err"].Stat(); statErr == nil && info.Size() > 0 {
		text := make([]byte, min(most, info.Size()))
		n, _ := files["err"].ReadAt(text, info.Size()-int64(len(text)))
		said = strings.TrimSpace(string(text[:n]))
	}
	if _, seekErr := files["out"].Seek(0, io.SeekStart); err == nil && seekErr == nil {
		n, copyErr := io.Copy(to, io.LimitReader(files["out"], mostSaid+1))
		if err = copyErr; err == nil && n > mostSaid {
			err = fmt.Errorf("it said more than %d bytes", mostSaid)
		}
	}
	return said, err
}
