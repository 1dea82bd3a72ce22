package guard

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/windows"
)

// known replaces the marks of what isn't known by what makes a path of them: a variable that nothing has set is empty, and
// anything else is taken for one name.
var knownPath = strings.NewReplacer(shell.Unset, "", shell.Unknown, "unknown", shell.Item, "unknown")

// likeliest is a path of which parts aren't known, with what stands for them. A name that isn't known is one name; but where steps
// to the parent follow, it may be none at all, so that they lead further up.
func likeliest(text string) string {
	if !shell.HasUnknown(text) {
		return text
	}
	parts := strings.Split(text, "/")
	for i, part := range parts {
		if (part == shell.Unknown || part == shell.Item) && slices.Contains(parts[i+1:], "..") {
			parts[i] = "."
		}
	}
	return knownPath.Replace(strings.Join(parts, "/"))
}

// device matches the names of disks.
var device = pattern.New(`^/dev/(sd|hd|vd|xvd|nvme|mmcblk|loop|dm-|md|sr|nbd|disk|rdisk|mapper/|ram|zram|mtd|root|block/|mem$|kmem$|port$)`)

// safeDevices are always allowed, for reading and writing.
var safeDevices = map[string]bool{
	"/dev/null": true, "/dev/zero": true, "/dev/random": true, "/dev/urandom": true,
	"/dev/stdin": true, "/dev/stdout": true, "/dev/stderr": true,
}

// descriptor matches the files that a command has open already: what opened them was decided on.
var descriptor = pattern.New(`^/dev/fd/[0-9]+$`)

// path decides on a path in a command.
func (a *analysis) path(p *shell.Place, access Access, text string, glob bool, argv []string) {
	if len(text) > 5 && strings.EqualFold(text[:5], "file:") {
		text = filePath(text)
	}
	written, vague := text, shell.HasUnknown(text)
	if vague {
		text = likeliest(text)
	}
	if text == "" || a.Settled() {
		return
	}
	clean := text
	if text[0] == '/' {
		clean = paths.Cleaned(text)
	}
	dev := strings.HasPrefix(clean, "/dev/")
	if dev && access == Write && a.rules && device.MatchString(clean) {
		a.add(finding{verdict: Deny, rule: "exec.device", line: reasonDangerous, tier: tierHard, why: "it writes to the device " + clean, setting: settingHard, span: p.Span, argv: argv})
	}
	if !a.paths || dev && (descriptor.MatchString(clean) || safeDevices[clean] && access != Delete || strings.HasPrefix(clean, "/dev/fd/"+shell.Substituted)) {
		return
	}
	if glob {
		text = parents(text)
	}
	abs := text
	if !filepath.IsAbs(text) {
		dir := p.Dir
		if dir == "" {
			// The directory is somewhere inside, nobody knows where: steps up may leave it.
			if !filepath.IsLocal(text) {
				a.refuse(p, finding{rule: ruleOutside, why: "the working directory isn't known here, so " + text + " may lie outside the workspace", safer: saferInside, argv: argv})
			}
			return
		}
		if abs = ""; text == ".." && len(a.symlinks) == 0 {
			abs = a.resolver.above(dir)
		}
		if abs == "" {
			abs = a.resolver.paths.Below(dir, belowHere(text))
		}
		if p.Doubt != "" {
			there := *p
			there.Dir, there.Doubt = p.Doubt, ""
			a.path(&there, access, text, glob, argv)
		}
	}
	if strings.HasPrefix(abs[1:], shell.Temporary) || strings.HasPrefix(abs[1:], shell.Program) {
		below := filepath.ToSlash(filepath.Clean(abs))
		if strings.HasPrefix(below, "/"+shell.Temporary+"/") || (access == Read || access == List) && strings.HasPrefix(below, "/"+shell.Program+"/") {
			return
		}
	}
	if reason := malformed(abs); reason != "" {
		a.refuse(p, finding{rule: ruleMalformed, why: reason, safer: saferInside, argv: argv})
		return
	}
	if link := a.throughLink(abs); link != "" {
		a.refuse(p, finding{rule: ruleUnresolved, why: text + ": the same command makes the link " + link + ", and where .. behind it leads is only known then", safer: saferInside, argv: argv})
		return
	}
	key := pathKey{access, abs}
	if a.open == key || access == List && abs == a.dir {
		return // that was decided before
	}
	if d := a.guard.decidePath(&a.resolver, access, text, abs); d.Verdict != Allow {
		if vague {
			// No setting opens a path of which a part is made up here.
			a.refuse(p, finding{rule: d.Rule, why: marks.Replace(written) + ": " + d.Reason, safer: "name the path, inside the workspace", argv: argv})
			return
		}
		safer := d.Safer
		if safer == "" && temporary(abs) {
			safer = "use $TMPDIR, or a file or directory that mktemp makes: those are the command's own"
		} else if safer == "" && (access == Write || access == Delete) {
			safer = saferInside
		}
		a.refuse(p, finding{rule: d.Rule, why: text + ": " + d.Reason, safer: safer, setting: d.Setting, argv: argv})
		return
	}
	a.open = key
}

// linked remembers symbolic links that the command line makes.
func (a *analysis) linked(links ...string) {
	if a.symlinks == nil {
		a.symlinks = map[string]bool{}
	}
	for _, link := range links {
		a.symlinks[filepath.Clean(link)] = true
	}
}

// throughLink returns the link that the command line makes from which a path goes up, which is not where its name says; "" if there is none.
func (a *analysis) throughLink(path string) string {
	if len(a.symlinks) == 0 || !strings.Contains(path, "..") {
		return ""
	}
	for at := 0; ; {
		up := strings.Index(path[at:], "/..")
		if up < 0 {
			return ""
		}
		if at += up; a.symlinks[filepath.Clean(path[:at])] {
			return filepath.Clean(path[:at])
		}
		at += len("/..")
	}
}

// temporary says whether a path is in a directory that all the machine's users keep temporary files in.
func temporary(path string) bool {
	path = filepath.ToSlash(filepath.Clean(path)) + "/"
	return strings.HasPrefix(path, "/tmp/") || strings.HasPrefix(path, "/var/tmp/")
}

// belowHere is a relative path without the name of the directory that it starts in.
func belowHere(path string) string {
	if rest := strings.TrimPrefix(path, "./"); rest != "" && rest[0] != '/' {
		return rest
	}
	return path
}

func (a *analysis) refuse(p *shell.Place, f finding) {
	f.verdict, f.line, f.span = Deny, reasonWorkdir, p.Span
	a.add(f)
}

func (a *analysis) outside(c *shell.Call, word string) {
	a.refuse(&c.Place, finding{rule: ruleOutside, why: word + " leaves the workspace", safer: saferInside, argv: c.Texts()})
}

// parents replaces the parts of a pattern that may match ".." by "..".
func parents(pattern string) string {
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		if ok, err := path.Match(strings.ReplaceAll(part, "[!", "[^"), ".."); err == nil && ok && strings.HasPrefix(part, ".") {
			parts[i] = ".."
		}
	}
	return strings.Join(parts, "/")
}

// filePath is the path of a file: URL, with or without a host.
func filePath(url string) string {
	rest := url[5:]
	if host, ok := strings.CutPrefix(rest, "//"); ok {
		if i := strings.IndexByte(host, '/'); i >= 0 {
			return host[i:]
		}
		return host
	}
	return rest
}

// fileURLs decides on the files that URLs name which stand behind something else: -sfile:///x, {file:///x,y}.
func (a *analysis) fileURLs(c *shell.Call) {
	for _, f := range c.Argv[1:] {
		if at := strings.Index(strings.ToLower(f.Text), "file:/"); at > 0 && len(strings.ToLower(f.Text)) == len(f.Text) {
			url := f.Text[at:]
			if end := strings.IndexAny(url, "{}[],"); end >= 0 {
				url = url[:end]
			}
			a.path(&c.Place, Read, filePath(url), f.Glob, c.Texts())
		}
	}
}

// separators stand between the parts of an argument that may each be a path: --opt=/x, a:/x, -Fname=@/x, type=bind,source=/x.
const separators = "=:,@<>;"

// separates says of each byte whether it is one of them.
var separates = func() (is [256]bool) {
	for _, c := range []byte(separators) {
		is[c] = true
	}
	return is
}()

// shape decides on an argument that is for nobody knows what, if it looks like a path.
func (a *analysis) shape(c *shell.Call, name, text string, glob bool) {
	argv := c.Texts()
	if programs.Remote(text) || windows.Names[name] && isSwitch(text) {
		return
	}
	access := Read
	check := func(text string) { a.path(&c.Place, access, text, glob, argv) }
	switch {
	case strings.IndexByte(text, ' ') >= 0 || strings.IndexByte(text, '\t') >= 0 || strings.IndexByte(text, '\n') >= 0:
		if leaves(text) {
			check(text)
		}
		return
	case len(text) > 5 && strings.EqualFold(text[:5], "file:"):
		check(text)
		return
	case strings.HasPrefix(text, "-"):
		if len(text) > 2 && text[1] != '-' {
			if rest := strings.TrimLeft(text[1:], letters); leaves(rest) {
				check(a.home(c, rest))
			}
		}
	default:
		check(text)
	}
	for i := 0; i < len(text); i++ {
		if !separates[text[i]] {
			continue
		}
		part := text[i+1:]
		if end := strings.IndexAny(part, separators); end >= 0 {
			part = part[:end]
		}
		if programs.Remote(text[i+1:]) {
			return // --url=https://host/path
		}
		switch {
		case leaves(part) && !strings.HasPrefix(part, "//"):
			check(a.home(c, part))
		case len(text) > i+6 && strings.EqualFold(text[i+1:i+6], "file:"):
			check(text[i+1:])
		case part != "" && text[0] == '-':
			check(part)
		}
	}
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"

// leaves says whether a text looks like a path that isn't simply below the working directory.
func leaves(text string) bool {
	plain := text
	if shell.HasUnknown(text) {
		plain = knownPath.Replace(text)
	}
	return strings.HasPrefix(plain, "/") || strings.HasPrefix(plain, "~/") || plain == ".." || strings.HasPrefix(plain, "../") || strings.Contains(plain, "/../") || strings.HasSuffix(plain, "/..")
}

// home is a path with its tilde replaced: programs do so themselves behind "=".
func (a *analysis) home(c *shell.Call, text string) string {
	if rest, ok := strings.CutPrefix(text, "~/"); ok {
		if home, ok := c.Lookup("HOME"); ok {
			return home + "/" + rest
		}
		return "/" + text
	}
	return text
}

// homeOf is a file in the home directory that a command has.
func (a *analysis) homeOf(c *shell.Call, file string) string {
	if home := c.Env["HOME"]; home != "" {
		return home + "/" + file
	}
	return a.home(c, "~/"+file)
}

// isSwitch says whether a word is a switch of a Windows command.
func isSwitch(text string) bool {
	return strings.HasPrefix(text, "/") && len(text) > 1 && !strings.Contains(text[1:], "/")
}
