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

// devicePattern matches the names of disks.
var devicePattern = lazyregexp.New(`^/dev/(sd|hd|vd|xvd|nvme|mmcblk|loop|dm-|md|sr|nbd|disk|rdisk|mapper/|ram|zram|mtd|` +
	`root|block/|mem$|kmem$|port$)`)

// safeDevices are always allowed for reading and writing.
var safeDevices = map[string]bool{
	"/dev/null": true, "/dev/zero": true, "/dev/full": true, "/dev/random": true, "/dev/urandom": true, "/dev/tty": true,
	"/dev/stdin": true, "/dev/stdout": true, "/dev/stderr": true,
}

// descriptorPattern matches paths of file descriptors that the command has already open. The files were checked when
// they were opened.
var descriptorPattern = lazyregexp.New(`^(/dev/fd|/proc/self/fd)/[0-9]+$`)

// pathPlaceholders replaces unknown parts of a path: an unset variable by "", any other by one name.
var pathPlaceholders = strings.NewReplacer(shell.Unset, "", shell.Unknown, "unknown", shell.Item, "unknown")

// replaceUnknownParts replaces each unknown part of a path by a name, or by "." if ".." follows later. These are the
// most dangerous likely values.
func replaceUnknownParts(text string) string {
	if !shell.HasUnknown(text) {
		return text
	}
	parts := strings.Split(text, "/")
	for i, part := range parts {
		if (part == shell.Unknown || part == shell.Item) && slices.Contains(parts[i+1:], "..") {
			parts[i] = "."
		}
	}
	return pathPlaceholders.Replace(strings.Join(parts, "/"))
}

// checkPath adds a finding if the policy refuses an access to a path in a command.
func (a *commandAnalysis) checkPath(p *shell.CommandLocation, access AccessKind, text string, glob bool, argv []string) {
	if len(text) > 5 && strings.EqualFold(text[:5], "file:") {
		text = fileURLPath(text)
	}
	if a.guard.policy.Kernel && (strings.HasPrefix(text, shell.Unknown) || strings.HasPrefix(text, shell.Unset)) {
		return // where it begins is computed
	}
	written := text
	if text = replaceUnknownParts(text); text == "" {
		return
	}
	clean := filepath.Clean(text)
	dev := strings.HasPrefix(clean, "/dev/")
	if dev && access == Write && a.rules && devicePattern().MatchString(clean) {
		a.keepStrictestFinding(commandFinding{verdict: Deny, rule: "exec.device", line: reasonDangerous, tier: tierHard, setting: settingHard,
			why: "it writes to the device " + clean, span: p.Span(), argv: argv})
	}
	open := descriptorPattern().MatchString(clean) || strings.HasPrefix(clean, "/dev/fd/"+shell.Substituted)
	if open || dev && safeDevices[clean] && access != Delete {
		return
	}
	if glob {
		text = expandDotDotGlobs(text)
	}
	abs := text
	if !filepath.IsAbs(text) {
		if p.Dir == "" {
			// The directory is somewhere inside, nobody knows where: steps up may leave it.
			if a.paths && !filepath.IsLocal(text) && !a.guard.policy.Kernel {
				a.addPathRefusal(p, commandFinding{rule: ruleOutside, safer: saferInside, argv: argv,
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
	if reason := findPathProblem(abs); reason != "" {
		if !a.paths {
			return
		}
		a.addPathRefusal(p, commandFinding{rule: ruleMalformed, why: reason, safer: saferInside, argv: argv})
		return
	}
	d := a.guard.decideAbsolutePath(&a.known, access, text, abs)
	if d.Rule == RuleProtect {
		a.keepStrictestFinding(commandFinding{verdict: d.Verdict, rule: d.Rule, line: reasonProtected, why: text + ": " + d.Reason,
			setting: d.Setting, span: p.Span(), argv: argv})
		return
	}
	if d.Verdict == Allow || !a.paths {
		return
	}
	f := commandFinding{rule: d.Rule, why: text + ": " + d.Reason, safer: d.Safer, setting: d.Setting, argv: argv}
	switch {
	case shell.HasUnknown(written):
		f.why = placeholders.Replace(written) + ": " + d.Reason
		f.safer, f.setting = saferInside, "" // no setting is known to open it
	case paths.WithinAny([]string{"/tmp", "/var/tmp"}, d.Path):
		f.safer = "use $TMPDIR, or a file or directory created by mktemp"
	}
	a.addPathRefusal(p, f)
}

func (a *commandAnalysis) addPathRefusal(p *shell.CommandLocation, f commandFinding) {
	f.verdict, f.line, f.span = Deny, reasonWorkdir, p.Span()
	a.keepStrictestFinding(f)
}

// expandDotDotGlobs replaces the parts of a pattern that may match ".." by "..".
func expandDotDotGlobs(pattern string) string {
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		if ok, err := path.Match(part, ".."); err == nil && ok && strings.HasPrefix(part, ".") {
			parts[i] = ".."
		}
	}
	return strings.Join(parts, "/")
}

// fileURLPath returns the path of a file: URL, with or without a host.
func fileURLPath(url string) string {
	rest := url[5:]
	if host, ok := strings.CutPrefix(rest, "//"); ok {
		if i := strings.IndexByte(host, '/'); i >= 0 {
			return host[i:]
		}
		return host
	}
	return rest
}

// pathSeparators separate possible paths in an argument: --opt=/x, a:/x, -Fname=@/x, type=bind,source=/x.
const pathSeparators = "=:,@<>;"

// checkUntypedArgument checks an argument of unknown purpose if it looks like a path.
func (a *commandAnalysis) checkUntypedArgument(c *shell.SimpleCommand, name string, argv []string, text string, glob bool) {
	if programs.IsRemoteFile(text) || windows.IsWindowsCommand(name) && isWindowsSwitch(text) {
		return
	}
	check := func(text string) { a.checkPath(&c.CommandLocation, Read, text, glob, argv) }
	switch {
	case strings.ContainsAny(text, " \t\n"):
		if looksOutsideDir(text) {
			check(text)
		}
		return
	case len(text) > 5 && strings.EqualFold(text[:5], "file:"):
		check(text)
		return
	case strings.HasPrefix(text, "-"):
		if len(text) > 2 && text[1] != '-' {
			if rest := strings.TrimLeft(text[1:], letters); looksOutsideDir(rest) {
				check(a.expandTilde(c, rest))
			}
		}
	default:
		check(text)
	}
	for i := 0; i < len(text); i++ {
		if strings.IndexByte(pathSeparators, text[i]) < 0 {
			continue
		}
		rest := text[i+1:]
		if programs.IsRemoteFile(rest) {
			return // --url=https://host/path
		}
		part := rest
		if end := strings.IndexAny(part, pathSeparators); end >= 0 {
			part = part[:end]
		}
		switch {
		case looksOutsideDir(part) && !strings.HasPrefix(part, "//"):
			check(a.expandTilde(c, part))
		case len(rest) > 5 && strings.EqualFold(rest[:5], "file:"):
			check(rest)
		case part != "" && text[0] == '-':
			check(part)
		}
	}
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"

// looksOutsideDir reports whether a text looks like a path that is not below the working directory.
func looksOutsideDir(text string) bool {
	plain := pathPlaceholders.Replace(text)
	return strings.HasPrefix(plain, "/") || strings.HasPrefix(plain, "~/") || plain == ".." ||
		strings.HasPrefix(plain, "../") || strings.Contains(plain, "/../") || strings.HasSuffix(plain, "/..")
}

// expandTilde replaces a leading tilde, which programs expand after "=".
func (a *commandAnalysis) expandTilde(c *shell.SimpleCommand, text string) string {
	if rest, ok := strings.CutPrefix(text, "~/"); ok {
		if home, ok := c.LookupVar("HOME"); ok {
			return home + "/" + rest
		}
		return "/" + text
	}
	return text
}

// isWindowsSwitch reports whether a word is a switch of a Windows command, such as /s.
func isWindowsSwitch(text string) bool {
	return strings.HasPrefix(text, "/") && len(text) > 1 && !strings.Contains(text[1:], "/")
}
