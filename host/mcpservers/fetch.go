package mcpservers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/host/store"
	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// installPlan says which files to fetch or copy for a command line, and how to start the server without the network.
type installPlan struct {
	fetch   *packageSource    // package to fetch first; nil for none
	command []string          // command to start; for a fetched package only its arguments
	env     map[string]string // variables besides the operator's
	copies  map[string]string // files and directories to copy, by destination below data/
	name    string            // name of the program
}

// packageSource is a package in a registry such as npm or PyPI.
type packageSource struct {
	manager string // "npm" or "pip"
	spec    string // may include a version
	name    string // without version
	bin     string // program in the package; empty for the main one
}

// runtimes maps language runtimes to their Debian packages. Runtimes are not copied, but used from the system.
var runtimes = map[string]string{
	"node": "nodejs", "python3": "python3", "python": "python3", "ruby": "ruby", "java": "default-jre-headless",
	"perl": "perl", "php": "php-cli", "sh": "dash", "bash": "bash",
}

// planInstall plans the installation of a server from its command line.
func planInstall(s *ServerSpec) (*installPlan, error) {
	program, args := s.Command[0], s.Command[1:]
	switch base := filepath.Base(program); base {
	case "npx":
		return planNPX(args)
	case "uvx":
		return planUVX(args)
	case "docker", "podman":
		return nil, fmt.Errorf("%s starts containers, which a sandbox can't confine; use the command that the image runs, such as the npx or uvx line in the server's documentation", base)
	case "uv":
		return nil, errors.New("uv is not supported; use uvx PACKAGE for a published server, or python3 FILE with --files DIR " +
			"for a project with its packages")
	case "npm", "pnpm", "yarn", "bunx", "bun", "deno", "pipx":
		return nil, fmt.Errorf("%s is not supported; use npx PACKAGE, uvx PACKAGE, node FILE, python3 FILE or a program", base)
	}
	return planLocalCopies(s, program, args)
}

// parseOptions parses the options of npx or uvx, and returns the arguments after them. One of the options in source sets
// the package; those in ignored have no effect.
func (f *packageSource) parseOptions(program string, args, source, ignored []string) ([]string, error) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		flag, value, has := strings.Cut(args[0], "=")
		switch {
		case slices.Contains(source, flag):
			if !has && len(args) > 1 {
				value, args = args[1], args[1:]
			}
			f.spec = value
		case !slices.Contains(ignored, flag):
			return nil, fmt.Errorf("%s %s is not supported; remove it", program, args[0])
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return nil, fmt.Errorf("%s names no package", program)
	}
	return args, nil
}

// npmSpec matches an npm package name with an optional version or tag.
var npmSpec = lazyregexp.New(`^((?:@[a-z0-9~-][a-z0-9._~-]*/)?[a-zA-Z0-9~-][a-zA-Z0-9._~-]*)(@[^/]+)?$`)

// planNPX plans the installation of an npm package from the arguments of npx.
func planNPX(args []string) (*installPlan, error) {
	f := &packageSource{manager: "npm"}
	args, err := f.parseOptions("npx", args, []string{"-p", "--package"},
		[]string{"-y", "--yes", "-q", "--quiet", "--prefer-online", "--prefer-offline", "--silent", "--"})
	if err != nil {
		return nil, err
	}
	if f.spec == "" {
		f.spec = args[0]
	} else {
		f.bin = args[0]
	}
	found := npmSpec().FindStringSubmatch(f.spec)
	if found == nil {
		return nil, fmt.Errorf("%q is not a package of npm's registry, such as @modelcontextprotocol/server-everything", f.spec)
	}
	f.name = found[1]
	return &installPlan{fetch: f, command: args[1:], name: "node"}, nil
}

// pythonSpec matches a PyPI package name with optional extras and version.
var pythonSpec = lazyregexp.New(`^([A-Za-z0-9][A-Za-z0-9._-]*)(\[[A-Za-z0-9,._-]+\])?(@latest|(?:==|@)[A-Za-z0-9.+!_-]+)?$`)

// planUVX plans the installation of a PyPI package from the arguments of uvx.
func planUVX(args []string) (*installPlan, error) {
	f := &packageSource{manager: "pip"}
	args, err := f.parseOptions("uvx", args, []string{"--from"}, []string{"-q", "--quiet", "--isolated", "--no-cache"})
	if err != nil {
		return nil, err
	}
	f.bin = args[0]
	if f.spec == "" {
		f.spec = args[0]
		f.bin, _, _ = strings.Cut(strings.TrimSuffix(f.bin, "@latest"), "=")
		f.bin, _, _ = strings.Cut(f.bin, "@")
		f.bin, _, _ = strings.Cut(f.bin, "[")
	}
	found := pythonSpec().FindStringSubmatch(f.spec)
	if found == nil {
		return nil, fmt.Errorf("%q is not a package of Python's index, such as mcp-server-time or mcp-server-time==1.2.0", f.spec)
	}
	f.name = found[1]
	version := strings.TrimLeft(strings.TrimSuffix(found[3], "@latest"), "=@")
	f.spec = found[1] + found[2]
	if version != "" {
		f.spec += "==" + version
	}
	return &installPlan{
		fetch: f, command: args[1:], name: "python3", env: map[string]string{"PYTHONPATH": "{{data}}/site"},
	}, nil
}

// planLocalCopies plans copies of the local programs and scripts in a command into the package, except system files.
func planLocalCopies(s *ServerSpec, program string, args []string) (*installPlan, error) {
	r := &installPlan{copies: map[string]string{}}
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
		if _, err = findSystemProgram(r.name, pkg); err != nil {
			return nil, err
		}
	case isSystemProgram(path):
		r.name, r.command = path, []string{path}
	default:
		if path, err = filepath.Abs(path); err != nil {
			return nil, err
		}
		at := r.planCopy(path)
		r.name, r.command = strings.Replace(at, "{{data}}", store.DataDir, 1), []string{at}
	}
	for _, arg := range args {
		if info, err := os.Stat(arg); err == nil && info.Mode().IsRegular() && isRuntime && !strings.HasPrefix(arg, "-") {
			if arg, err = filepath.Abs(arg); err != nil {
				return nil, err
			}
			arg = r.planCopy(arg)
		}
		r.command = append(r.command, arg)
	}
	return r, nil
}

// planCopy plans the copy of a file, unless its directory is copied, and returns the file's name in the command.
func (r *installPlan) planCopy(path string) string {
	if dir := r.copies["files"]; dir != "" {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return "{{data}}/files/" + filepath.ToSlash(rel)
		}
	}
	dest := "own/" + filepath.Base(path)
	for n := 2; r.copies[dest] != "" && r.copies[dest] != path; n++ {
		dest = fmt.Sprintf("own/%d/%s", n, filepath.Base(path))
	}
	r.copies[dest] = path
	return "{{data}}/" + dest
}

// isSystemProgram reports whether a program is in a system directory.
func isSystemProgram(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	return err == nil && (strings.HasPrefix(real, "/usr/") && !strings.HasPrefix(real, "/usr/local/") ||
		strings.HasPrefix(real, "/bin/") || strings.HasPrefix(real, "/sbin/"))
}

// findSystemProgram returns the path of a program in the system directories, since a sandbox shows no others. The error
// says how to install a missing program.
func findSystemProgram(name, pkg string) (string, error) {
	if path := session.FindSystemProgram(name); path != "" {
		return path, nil
	}
	return "", fmt.Errorf("there is no %s in /usr/bin or /usr/local/bin, where a sandbox looks for it; install it, such as with: apt-get install %s", name, pkg)
}

// copyFiles makes the planned copies in a package's data directory.
func (r *installPlan) copyFiles(data string) error {
	for dest, from := range r.copies {
		to := filepath.Join(data, filepath.FromSlash(dest))
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

// maxCopiedBytes limits the total size of a server's copied files.
const maxCopiedBytes = 512 << 20

// copyTree copies a directory without .git and npm's .bin directories.
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
			return nil // npm's links to programs are not needed
		case !e.Type().IsRegular():
			return fmt.Errorf("%s is neither a file nor a directory and can't be copied", path)
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if size += info.Size(); size > maxCopiedBytes {
			return fmt.Errorf("%s has more than %d MB", from, maxCopiedBytes>>20)
		}
		return copyFile(path, target, info.Mode())
	})
}

// copyFile copies a file. Only the owner can access the copy.
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

// findStartCommand returns the command that starts a package installed in data, and the package's version. It reads
// through an os.Root, since install scripts may have created symlinks.
func (f *packageSource) findStartCommand(data string) (command []string, version string, err error) {
	root, err := os.OpenRoot(data)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = root.Close() }()
	if f.manager == "npm" {
		return f.npmStartCommand(root)
	}
	matches, err := fs.Glob(root.FS(), "site/*.dist-info")
	if err != nil {
		return nil, "", err
	}
	for _, dir := range matches {
		name, rest, _ := strings.Cut(strings.TrimSuffix(path.Base(dir), ".dist-info"), "-")
		if normalizePyPIName(name) == normalizePyPIName(f.name) {
			version = rest
		}
	}
	if info, err := root.Stat("site/bin/" + f.bin); err != nil || !info.Mode().IsRegular() {
		return nil, "", fmt.Errorf("the package %s has no program %s; name it: uvx --from %s PROGRAM", f.name, f.bin, f.spec)
	}
	return []string{"python3", "{{data}}/site/bin/" + f.bin}, version, nil
}

// normalizePyPIName normalizes a PyPI package name, so that equal names are equal strings.
func normalizePyPIName(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "_", ".", "_").Replace(name))
}

// npmStartCommand returns the command that starts an installed npm package, and its version.
func (f *packageSource) npmStartCommand(root *os.Root) (command []string, version string, err error) {
	const maxSize = 1 << 20
	manifest := path.Join("node_modules", f.name, "package.json")
	if info, lstatErr := root.Lstat(manifest); lstatErr == nil && (!info.Mode().IsRegular() || info.Size() > maxSize) {
		return nil, "", fmt.Errorf("the package.json of %s is not a regular file of at most %d bytes", f.name, maxSize)
	}
	text, err := root.ReadFile(manifest)
	if err != nil {
		return nil, "", fmt.Errorf("the package %s was not fetched: %w", f.name, err)
	}
	var pkg struct {
		Version string          `json:"version"`
		Bin     json.RawMessage `json:"bin"`
	}
	if err := json.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &pkg); err != nil {
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
		names := slices.Sorted(maps.Keys(bins))
		return nil, "", fmt.Errorf("the package %s has several programs (%s); choose one: npx -p %s PROGRAM", f.name,
			strings.Join(names, ", "), f.spec)
	}
	if !filepath.IsLocal(filepath.FromSlash(file)) {
		return nil, "", fmt.Errorf("the package %s names a program outside of its directory: %q", f.name, file)
	}
	return []string{"node", "{{data}}/" + path.Join("node_modules", f.name, file)}, pkg.Version, nil
}
