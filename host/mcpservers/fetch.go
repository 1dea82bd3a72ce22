package mcpservers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/host/store"
	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// recipe is how a command line becomes one that starts without the network.
type recipe struct {
	fetch   *fetch            // what is fetched first; nil for nothing
	command []string          // what is started then; for what was fetched, its arguments alone
	env     map[string]string // besides the operator's
	copies  map[string]string // files and directories that are copied below data/, by where they are put
	name    string            // of the program
}

// fetch is a package of a registry.
type fetch struct {
	manager string // "npm" or "pip"
	spec    string // with a version, perhaps
	name    string // without
	bin     string // the program in it; empty for the one that has the package's name, or is alone
}

// runtimes are the programs that start others, with the Debian package that has them. They are the system's and are not
// copied.
var runtimes = map[string]string{
	"node": "nodejs", "python3": "python3", "python": "python3", "ruby": "ruby", "java": "default-jre-headless",
	"perl": "perl", "php": "php-cli", "sh": "dash", "bash": "bash",
}

// plan reads a command line.
func plan(s *Spec) (*recipe, error) {
	program, args := s.Command[0], s.Command[1:]
	switch base := filepath.Base(program); base {
	case "npx":
		return planNPX(args)
	case "uvx":
		return planUVX(args)
	case "docker", "podman":
		return nil, fmt.Errorf("%s starts containers, which a sandbox can't hold; give the command that the image runs, such as the npx or uvx line in the server's documentation", base)
	case "npm", "pnpm", "yarn", "bunx", "bun", "deno", "uv", "pipx":
		return nil, fmt.Errorf("a server that %s starts is not known here; give it as npx PACKAGE, uvx PACKAGE, node FILE, python3 FILE or a program", base)
	}
	return planFiles(s, program, args)
}

// npmName is the name of a package in npm's registry, with a version or tag, perhaps.
var npmName = lazyregexp.New(`^((?:@[a-z0-9~-][a-z0-9._~-]*/)?[a-zA-Z0-9~-][a-zA-Z0-9._~-]*)(@[^/]+)?$`)

func planNPX(args []string) (*recipe, error) {
	f := &fetch{manager: "npm"}
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		flag, value, has := strings.Cut(args[0], "=")
		switch flag {
		case "-y", "--yes", "-q", "--quiet", "--prefer-online", "--prefer-offline", "--silent":
		case "-p", "--package":
			if !has && len(args) > 1 {
				value, args = args[1], args[1:]
			}
			f.spec = value
		case "--":
		default:
			return nil, fmt.Errorf("npx %s is not known here; leave it out", args[0])
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return nil, errors.New("npx names no package")
	}
	if f.spec == "" {
		f.spec = args[0]
	} else {
		f.bin = args[0]
	}
	found := npmName().FindStringSubmatch(f.spec)
	if found == nil {
		return nil, fmt.Errorf("%q is not a package of npm's registry, such as @modelcontextprotocol/server-everything", f.spec)
	}
	f.name = found[1]
	return &recipe{fetch: f, command: args[1:], name: "node"}, nil
}

// pythonName is the name of a package in Python's index, with extras and a version, perhaps.
var pythonName = lazyregexp.New(`^([A-Za-z0-9][A-Za-z0-9._-]*)(\[[A-Za-z0-9,._-]+\])?(@latest|(?:==|@)[A-Za-z0-9.+!_-]+)?$`)

func planUVX(args []string) (*recipe, error) {
	f := &fetch{manager: "pip"}
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		flag, value, has := strings.Cut(args[0], "=")
		switch flag {
		case "-q", "--quiet", "--isolated", "--no-cache":
		case "--from":
			if !has && len(args) > 1 {
				value, args = args[1], args[1:]
			}
			f.spec = value
		default:
			return nil, fmt.Errorf("uvx %s is not known here; leave it out", args[0])
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return nil, errors.New("uvx names no package")
	}
	f.bin = args[0]
	if f.spec == "" {
		f.spec = args[0]
		f.bin, _, _ = strings.Cut(strings.TrimSuffix(f.bin, "@latest"), "=")
		f.bin, _, _ = strings.Cut(f.bin, "@")
		f.bin, _, _ = strings.Cut(f.bin, "[")
	}
	found := pythonName().FindStringSubmatch(f.spec)
	if found == nil {
		return nil, fmt.Errorf("%q is not a package of Python's index, such as mcp-server-time or mcp-server-time==1.2.0", f.spec)
	}
	f.name = found[1]
	version := strings.TrimLeft(strings.TrimSuffix(found[3], "@latest"), "=@")
	f.spec = found[1] + found[2]
	if version != "" {
		f.spec += "==" + version
	}
	return &recipe{
		fetch: f, command: args[1:], name: "python3", env: map[string]string{"PYTHONPATH": "{{data}}/site"},
	}, nil
}

// planFiles is for programs and scripts of this machine. What is not the system's is copied, so that it stays as it was
// looked at.
func planFiles(s *Spec, program string, args []string) (*recipe, error) {
	r := &recipe{copies: map[string]string{}}
	if s.Files != "" {
		dir, err := filepath.Abs(s.Files)
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("there is no directory %s", dir)
		}
		r.copies["files"] = dir
	}
	pkg, isRuntime := runtimes[filepath.Base(program)]
	path, err := exec.LookPath(program)
	if errors.Is(err, exec.ErrDot) {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		if isRuntime {
			return nil, fmt.Errorf("there is no %s on this machine; install it, such as with: apt-get install %s", program, pkg)
		}
		return nil, fmt.Errorf("there is no program %s; install it, or give its path", program)
	}
	switch {
	case isRuntime:
		r.name, r.command = filepath.Base(program), []string{filepath.Base(program)}
		if _, err := systemProgram(r.name, pkg); err != nil {
			return nil, err
		}
	case system(path):
		r.name, r.command = path, []string{path}
	default:
		if path, err = filepath.Abs(path); err != nil {
			return nil, err
		}
		at := r.take(path)
		r.name, r.command = strings.Replace(at, "{{data}}", store.DataDir, 1), []string{at}
	}
	for _, arg := range args {
		if info, err := os.Stat(arg); err == nil && info.Mode().IsRegular() && isRuntime && !strings.HasPrefix(arg, "-") {
			if arg, err = filepath.Abs(arg); err != nil {
				return nil, err
			}
			arg = r.take(arg)
		}
		r.command = append(r.command, arg)
	}
	return r, nil
}

// take has a file copied, unless it lies in a directory that is copied, and returns how the command names it.
func (r *recipe) take(path string) string {
	if dir := r.copies["files"]; dir != "" {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return "{{data}}/files/" + filepath.ToSlash(rel)
		}
	}
	at := "own/" + filepath.Base(path)
	for n := 2; r.copies[at] != "" && r.copies[at] != path; n++ {
		at = fmt.Sprintf("own/%d/%s", n, filepath.Base(path))
	}
	r.copies[at] = path
	return "{{data}}/" + at
}

// system reports whether a program is one of the system's.
func system(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	return err == nil && (strings.HasPrefix(real, "/usr/") && !strings.HasPrefix(real, "/usr/local/") ||
		strings.HasPrefix(real, "/bin/") || strings.HasPrefix(real, "/sbin/"))
}

// systemProgram returns the path of a runtime of the system's own, which is all that a sandbox sees, or says what to
// install.
func systemProgram(name, pkg string) (string, error) {
	for _, dir := range []string{"/usr/local/bin", "/usr/bin", "/bin"} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no %s in /usr/bin or /usr/local/bin, where a sandbox looks for it; install it, such as with: apt-get install %s", name, pkg)
}

// copyIn copies what the command needs below a package's data.
func (r *recipe) copyIn(data string) error {
	for at, from := range r.copies {
		to := filepath.Join(data, filepath.FromSlash(at))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		info, err := os.Stat(from)
		if err != nil {
			return err
		}
		if info.IsDir() {
			err = copyTree(from, to)
		} else {
			err = copyFile(from, to, info.Mode())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mostCopied is how much is copied of a server's own files, in bytes.
const mostCopied = 512 << 20

func copyTree(from, to string) error {
	size := int64(0)
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case e.IsDir() && e.Name() == ".git":
			return filepath.SkipDir
		case e.IsDir():
			return os.MkdirAll(target, 0o700)
		case e.Type()&fs.ModeSymlink != 0 && filepath.Base(filepath.Dir(path)) == ".bin":
			return nil // npm's links to programs, which nothing here needs
		case !e.Type().IsRegular():
			return fmt.Errorf("%s is neither a file nor a directory; a server's files are copied, and that can't be", path)
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if size += info.Size(); size > mostCopied {
			return fmt.Errorf("%s has more than %d MB", from, mostCopied>>20)
		}
		return copyFile(path, target, info.Mode())
	})
}

func copyFile(from, to string, mode fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode.Perm()&0o700|0o400)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// fetched says what to start of a package that was fetched into data, and which version it is. Programs of the package
// have run there: what they have left is read by a root that no link leads out of.
func (f *fetch) fetched(data string) (command []string, version string, err error) {
	root, err := os.OpenRoot(data)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = root.Close() }()
	if f.manager == "npm" {
		return f.fetchedNPM(root)
	}
	matches, err := fs.Glob(root.FS(), "site/*.dist-info")
	if err != nil {
		return nil, "", err
	}
	for _, dir := range matches {
		name, rest, _ := strings.Cut(strings.TrimSuffix(path.Base(dir), ".dist-info"), "-")
		if plainName(name) == plainName(f.name) {
			version = rest
		}
	}
	if info, err := root.Stat("site/bin/" + f.bin); err != nil || !info.Mode().IsRegular() {
		return nil, "", fmt.Errorf("the package %s has no program %s; name it: uvx --from %s PROGRAM", f.name, f.bin, f.spec)
	}
	return []string{"python3", "{{data}}/site/bin/" + f.bin}, version, nil
}

// plainName is a name of Python's index as it compares them.
func plainName(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "_", ".", "_").Replace(name))
}

func (f *fetch) fetchedNPM(root *os.Root) (command []string, version string, err error) {
	const most = 1 << 20
	at := path.Join("node_modules", f.name, "package.json")
	if info, err := root.Lstat(at); err == nil && (!info.Mode().IsRegular() || info.Size() > most) {
		return nil, "", fmt.Errorf("the package.json of %s is no file of at most %d bytes", f.name, most)
	}
	text, err := root.ReadFile(at)
	if err != nil {
		return nil, "", fmt.Errorf("the package %s was not fetched: %w", f.name, err)
	}
	var pkg struct {
		Version string          `json:"version"`
		Bin     json.RawMessage `json:"bin"`
	}
	if err := json.Unmarshal(text, &pkg); err != nil {
		return nil, "", fmt.Errorf("package.json of %s: %w", f.name, err)
	}
	base := f.name[strings.LastIndex(f.name, "/")+1:]
	bins := map[string]string{}
	if one := ""; json.Unmarshal(pkg.Bin, &one) == nil {
		bins[base] = one
	} else if err := json.Unmarshal(pkg.Bin, &bins); err != nil {
		return nil, "", fmt.Errorf("the package %s has no program", f.name)
	}
	file, ok := bins[f.bin]
	if !ok && f.bin == "" {
		if file, ok = bins[base]; !ok && len(bins) == 1 {
			for _, file = range bins {
				ok = true
			}
		}
	}
	if !ok {
		var names []string
		for name := range bins {
			names = append(names, name)
		}
		slices.Sort(names)
		return nil, "", fmt.Errorf("which program of %s is meant? It has %s: npx -p %s PROGRAM", f.name,
			strings.Join(names, ", "), f.spec)
	}
	if !filepath.IsLocal(filepath.FromSlash(file)) {
		return nil, "", fmt.Errorf("the package %s names a program outside of itself: %q", f.name, file)
	}
	return []string{"node", "{{data}}/" + path.Join("node_modules", f.name, file)}, pkg.Version, nil
}
