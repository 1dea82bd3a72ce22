package guard

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/windows"
)

// systemBins are the directories whose programs may be named by their full path.
var systemBins = map[string]bool{
	"/bin": true, "/sbin": true, "/usr/bin": true, "/usr/sbin": true, "/usr/local/bin": true, "/usr/local/sbin": true,
	"/usr/local/go/bin": true, "/opt/homebrew/bin": true, "/snap/bin": true, "/usr/games": true,
}

// device matches the names of disks.
var device = lazyregexp.New(`^/dev/(sd|hd|vd|xvd|nvme|mmcblk|loop|dm-|md|sr|nbd|disk|rdisk|mapper/|ram|zram|mtd|` +
	`root|block/|mem$|kmem$|port$)`)

// safeDevices are always allowed, for reading and writing.
var safeDevices = map[string]bool{
	"/dev/null": true, "/dev/zero": true, "/dev/full": true, "/dev/random": true, "/dev/urandom": true, "/dev/tty": true,
	"/dev/stdin": true, "/dev/stdout": true, "/dev/stderr": true,
}

// descriptor matches the files that a command has open already: what opened them was decided on.
var descriptor = lazyregexp.New(`^(/dev/fd|/proc/self/fd)/[0-9]+$`)

// knownPath replaces the marks of what isn't known by what makes a path of them: a variable that nothing has set is
// empty, and anything else is taken for one name.
var knownPath = strings.NewReplacer(shell.Unset, "", shell.Unknown, "unknown", shell.Item, "unknown")

// likeliest is a path of which parts aren't known, with what stands for them. A name that isn't known is one name; but
// where steps to the parent follow, it may be none at all, so that they lead further up.
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

// path decides on a path in a command.
func (a *analysis) path(p *shell.Place, access Access, text string, glob bool, argv []string) {
	if len(text) > 5 && strings.EqualFold(text[:5], "file:") {
		text = filePath(text)
	}
	if a.guard.policy.Kernel && (strings.HasPrefix(text, shell.Unknown) || strings.HasPrefix(text, shell.Unset)) {
		return // where it begins is computed
	}
	written := text
	if text = likeliest(text); text == "" {
		return
	}
	clean := filepath.Clean(text)
	dev := strings.HasPrefix(clean, "/dev/")
	if dev && access == Write && a.rules && device().MatchString(clean) {
		a.add(finding{verdict: Deny, rule: "exec.device", line: reasonDangerous, tier: tierHard, setting: settingHard,
			why: "it writes to the device " + clean, span: p.Span(), argv: argv})
	}
	open := descriptor().MatchString(clean) || strings.HasPrefix(clean, "/dev/fd/"+shell.Substituted)
	if open || dev && safeDevices[clean] && access != Delete {
		return
	}
	if glob {
		text = parents(text)
	}
	abs := text
	if !filepath.IsAbs(text) {
		if p.Dir == "" {
			// The directory is somewhere inside, nobody knows where: steps up may leave it.
			if a.paths && !filepath.IsLocal(text) && !a.guard.policy.Kernel {
				a.refuse(p, finding{rule: ruleOutside, safer: saferInside, argv: argv,
					why: "the working directory isn't known here, so " + text + " may lie outside the workspace"})
			}
			return
		}
		abs = p.Dir + string(filepath.Separator) + text
	}
	if strings.HasPrefix(filepath.Clean(abs), "/"+shell.Temporary+"/") {
		return // mktemp has made it
	}
	abs = strings.ReplaceAll(abs, shell.Temporary, "tmp")
	if reason := malformed(abs); reason != "" {
		if !a.paths {
			return
		}
		a.refuse(p, finding{rule: ruleMalformed, why: reason, safer: saferInside, argv: argv})
		return
	}
	d := a.guard.decidePath(&a.known, access, text, abs)
	if d.Rule == RuleProtect {
		a.add(finding{verdict: d.Verdict, rule: d.Rule, line: reasonProtected, why: text + ": " + d.Reason,
			setting: d.Setting, span: p.Span(), argv: argv})
		return
	}
	if d.Verdict == Allow || !a.paths {
		return
	}
	f := finding{rule: d.Rule, why: text + ": " + d.Reason, safer: d.Safer, setting: d.Setting, argv: argv}
	switch {
	case shell.HasUnknown(written):
		f.why = marks.Replace(written) + ": " + d.Reason
		f.safer, f.setting = saferInside, "" // no setting is known to open it
	case paths.WithinAny([]string{"/tmp", "/var/tmp"}, d.Path):
		f.safer = "use $TMPDIR, or a file or directory that mktemp makes: those are the command's own"
	}
	a.refuse(p, f)
}

func (a *analysis) refuse(p *shell.Place, f finding) {
	f.verdict, f.line, f.span = Deny, reasonWorkdir, p.Span()
	a.add(f)
}

// parents replaces the parts of a pattern that may match ".." by "..".
func parents(pattern string) string {
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		if ok, err := path.Match(part, ".."); err == nil && ok && strings.HasPrefix(part, ".") {
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

// separators stand between the parts of an argument that may each be a path: --opt=/x, a:/x, -Fname=@/x,
// type=bind,source=/x.
const separators = "=:,@<>;"

// argument decides on an argument that is for nobody knows what, if it looks like a path.
func (a *analysis) argument(c *shell.Call, name string, argv []string, text string, glob bool) {
	if programs.IsRemote(text) || windows.Is(name) && isSwitch(text) {
		return
	}
	check := func(text string) { a.path(&c.Place, Read, text, glob, argv) }
	switch {
	case strings.ContainsAny(text, " \t\n"):
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
		if strings.IndexByte(separators, text[i]) < 0 {
			continue
		}
		rest := text[i+1:]
		if programs.IsRemote(rest) {
			return // --url=https://host/path
		}
		part := rest
		if end := strings.IndexAny(part, separators); end >= 0 {
			part = part[:end]
		}
		switch {
		case leaves(part) && !strings.HasPrefix(part, "//"):
			check(a.home(c, part))
		case len(rest) > 5 && strings.EqualFold(rest[:5], "file:"):
			check(rest)
		case part != "" && text[0] == '-':
			check(part)
		}
	}
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"

// leaves reports whether a text looks like a path that isn't simply below the working directory.
func leaves(text string) bool {
	plain := knownPath.Replace(text)
	return strings.HasPrefix(plain, "/") || strings.HasPrefix(plain, "~/") || plain == ".." ||
		strings.HasPrefix(plain, "../") || strings.Contains(plain, "/../") || strings.HasSuffix(plain, "/..")
}

// home is a path with its tilde replaced: programs do so themselves behind "=".
func (a *analysis) home(c *shell.Call, text string) string {
	if rest, ok := strings.CutPrefix(text, "~/"); ok {
		if home, ok := c.LookupVar("HOME"); ok {
			return home + "/" + rest
		}
		return "/" + text
	}
	return text
}

// isSwitch reports whether a word is a switch of a Windows command.
func isSwitch(text string) bool {
	return strings.HasPrefix(text, "/") && len(text) > 1 && !strings.Contains(text[1:], "/")
}
