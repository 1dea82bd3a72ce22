package guard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/picoclaw/picoclaw/internal/paths"
)

// The rules for paths that others know.
const (
	RuleProtect    = "workspace.protect" // a path inside the workspace is protected
	RuleSymlink    = "workspace.symlink" // a path inside leads out, by a link
	RuleUnresolved = "path.unresolved"   // where a path leads can't be found out
)

// The other rules for paths.
const (
	ruleMalformed   = "path.malformed"
	ruleOutside     = "workspace.outside"
	ruleRoot        = "workspace.root"
	ruleProtected   = "workspace.protected"
	ruleConstraint  = "constraint.paths"
	reasonOutside   = "access denied: path is outside the workspace"
	reasonSymlink   = "access denied: symlink resolves outside workspace"
	maxPath         = 4096 // bytes, as Linux has it (PATH_MAX)
	settingGuarded  = "no setting opens this, as it is what binds the agent"
	settingProcess  = "no setting opens this: it belongs to one process, and the next call is made by another"
	saferInside     = "use a path inside the workspace"
	hintConstraints = "constraints.paths of the agent's module"
)

// Path decides whether path may be accessed. A relative path starts at the workspace. A path is a plain file name:
// "~", "%2e%2e" and "file://" mean nothing in it.
//
// Two readings of the path have to be allowed: as it is written, and with the symbolic links of its longest existing
// prefix resolved. [Decision.Path] is the second, absolute. What it names can change before it is used, so the
// user of the path must open it through package workspace, which can't be raced.
func (g *Guard) Path(a Access, path string) Decision { return g.resolvePath(nil, a, path) }

// known is for the many paths of one command: what is looked up already, and what is open to commands alone. A nil one
// is neither.
type known struct {
	paths.Resolver
	home string // [ExecPolicy.Home], symbolic links resolved
}

func (k *known) resolve(path string) (string, error) {
	if k == nil {
		return paths.Resolve(path)
	}
	return k.Resolve(path)
}

func (g *Guard) resolvePath(k *known, a Access, path string) Decision {
	if reason := malformed(path); reason != "" {
		return Decision{Verdict: Deny, Rule: ruleMalformed, Reason: "access denied: " + reason}.with(saferInside, "")
	}
	abs := path
	if !filepath.IsAbs(path) {
		abs = g.workspaces[0] + string(filepath.Separator) + path
	}
	return g.decidePath(k, a, path, abs)
}

// decidePath decides on abs, which the caller wrote as path.
func (g *Guard) decidePath(k *known, a Access, path, abs string) Decision {
	clean := filepath.Clean(abs)
	if len(g.allowed) > 0 && !paths.WithinAny(g.allowed, clean) && !paths.WithinAny(g.policy.Paths, clean) {
		return g.constrained(path, clean)
	}
	real, err := k.resolve(clean)
	itself := real
	if a == Delete && !strings.HasSuffix(path, "/") && !strings.HasSuffix(path, "/.") {
		// Deleting a link deletes the link, not what it points to, which may be anywhere, or nowhere.
		if dir, dirErr := k.resolve(filepath.Dir(clean)); dirErr == nil {
			itself, err = filepath.Join(dir, filepath.Base(clean)), nil
		}
	}
	if errors.Is(err, syscall.ENAMETOOLONG) {
		return Decision{Verdict: Deny, Rule: ruleMalformed,
			Reason: "access denied: a name in the path is longer than this system takes"}.with("use a shorter name", "")
	}
	if err != nil {
		return Decision{Verdict: Deny, Rule: RuleUnresolved,
			Reason: "access denied: the path can't be resolved: " + printable(err.Error())}.with(saferInside, "")
	}
	// "link/.." is the link's directory to this function and the target's parent to the kernel; both must be allowed.
	if strings.Contains(abs, "..") {
		if kernel, err := k.resolve(abs); err == nil && kernel != real {
			if d := g.decideTarget(k, a, path, clean, kernel); d.Verdict != Allow {
				return d
			}
			if d := g.decideInside(k, a, kernel); d.Verdict != Allow {
				return d
			}
		}
	}
	if d := g.decideTarget(k, a, path, clean, itself); d.Verdict != Allow {
		return d
	}
	if a == Delete && paths.Within(itself, g.workspaces[0]) {
		return Decision{Verdict: Deny, Rule: ruleRoot, Path: itself,
			Reason: "access denied: the workspace itself can't be deleted"}.with("delete what is inside it", "")
	}
	return g.decideInside(k, a, itself)
}

// decideTarget decides on one resolved target of a path.
func (g *Guard) decideTarget(k *known, a Access, path, clean, target string) Decision {
	lexical := paths.WithinAny(g.workspaces, clean)
	switch {
	case !g.policy.Restrict:
	case lexical && paths.Within(g.workspaces[0], target):
	case k != nil && k.home != "" && paths.Within(k.home, target):
	case !g.opened(a, target):
		d := Decision{Verdict: Deny, Rule: ruleOutside, Reason: reasonOutside, Path: target}
		if lexical {
			d.Rule, d.Reason = RuleSymlink, reasonSymlink
		}
		if g.guarded(a, target) {
			return d.with(saferInside, settingGuarded)
		}
		return d.with("", opener(a, target))
	case g.guarded(a, target):
		return Decision{Verdict: Deny, Rule: ruleProtected, Reason: reasonOutside, Path: target}.with(saferInside,
			settingGuarded)
	}
	if len(g.allowed) > 0 && !paths.WithinAny(g.allowed, target) {
		return g.constrained(path, target)
	}
	return Decision{Verdict: Allow, Path: target}
}

// opensOutside reports whether files outside the workspace may be changed at a path.
func (g *Guard) opensOutside(path string) bool { return !g.policy.Restrict || g.opened(Write, path) }

// decideInside decides on a change of protected paths. It leaves to the workspace what a tool writes to a file whose
// content decides, and to the monitor of commands what is below a directory.
func (g *Guard) decideInside(k *known, a Access, target string) Decision {
	if a == Read || a == List {
		return Decision{Verdict: Allow, Path: target}
	}
	hit, ok := g.inside.Match(target)
	if judged := hit.Judge != "" && hit.Judge != "gitlink"; ok && judged && (k == nil || hit.Loose()) {
		ok = false
	}
	if !ok && a == Delete && k == nil {
		hits, err := g.inside.Within(target, target)
		if err != nil {
			return Decision{Verdict: Deny, Rule: RuleProtect, Path: target,
				Reason: "access denied: protected files can't be looked for: " + printable(err.Error())}
		}
		for _, found := range hits {
			if !ok || hit.Ask && !found.Ask {
				hit, ok = found, true
			}
		}
	}
	if !ok {
		return Decision{Verdict: Allow, Path: target}
	}
	d := Decision{Verdict: Deny, Rule: RuleProtect, Path: hit.Path,
		Reason: fmt.Sprintf("access denied: %s is protected", printable(g.inside.Name(hit.Path)))}
	if hit.Ask {
		d.Verdict = Ask
	}
	return d.with("", hit.Remedy())
}

// ProtectedPaths decides on protected files that a command is to change: a person is asked, unless the operator denies
// one of them. Names that are not protected are denied, so that an approval covers what it names.
func (g *Guard) ProtectedPaths(named []string) Decision {
	if len(named) == 0 {
		return Decision{Verdict: Allow}
	}
	for _, path := range named {
		d := g.Path(Delete, path)
		if d.Verdict == Deny {
			return d
		}
		if _, ok := g.inside.Match(d.Path); !ok {
			return Decision{Verdict: Deny, Rule: RuleProtect, Path: d.Path, Reason: "access denied: " + printable(path) +
				" is not protected"}.with("name protected files in protected_paths, such as .git/config", "")
		}
	}
	return Decision{Verdict: Ask, Rule: RuleProtect, Path: named[0], Reason: "the command may change " +
		printable(strings.Join(named, ", ")) + ", which git, shell, editor or CI act on later on your side"}
}

// constrained is the refusal of a path that the constraint leaves out.
func (g *Guard) constrained(path, target string) Decision {
	return Decision{Verdict: Deny, Rule: ruleConstraint, Path: target,
		Reason: fmt.Sprintf("Path '%s' is outside allowed paths", printable(path))}.
		with("", fmt.Sprintf("add %s to %s", strconv.Quote(filepath.Dir(target)), hintConstraints))
}

// guarded reports whether a resolved path outside the workspace is protected. To delete a directory is to delete what
// is protected in it.
func (g *Guard) guarded(a Access, target string) bool {
	if paths.WithinAny(g.open, target) {
		return false
	}
	return paths.WithinAny(g.protected, target) || a == Delete && slices.ContainsFunc(g.protected,
		func(path string) bool { return paths.Within(target, path) })
}

// opened reports whether a whitelist opens a resolved path outside the workspace.
func (g *Guard) opened(a Access, target string) bool {
	patterns := g.writePaths
	if a == Read || a == List {
		if g.policy.AllowReadOutside {
			return true
		}
		patterns = g.readPaths
	}
	for _, re := range patterns {
		if re.MatchString(target) {
			return true
		}
	}
	return false
}

// malformed says what is wrong with a path that can't name a file, or "".
func malformed(path string) string {
	switch {
	case path == "":
		return "path is empty"
	case len(path) >= maxPath:
		return fmt.Sprintf("path is %d bytes long; the limit is %d", len(path), maxPath-1)
	case strings.ContainsRune(path, 0):
		return "path contains a NUL byte"
	}
	return ""
}

// printable escapes what could forge a line or hide a character in an error or a log.
func printable(s string) string {
	quoted := strconv.Quote(s)
	if plain := quoted[1 : len(quoted)-1]; strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return plain
	}
	return s
}

const (
	settingRead = "agents.defaults.allow_read_outside_workspace: true opens everything for reading; " +
		"nothing less opens the root directory"
	settingRoot = "agents.defaults.restrict_to_workspace: false lifts the checks of paths; " +
		"nothing less opens the root directory"
)

// opener names the setting that would open target: for a file, this file. A directory can only be opened with all that
// is in it, since the kernel's wall knows no other way. So is the one of a file that is to be made or deleted, or that
// a pattern of the shell means.
func opener(a Access, target string) string {
	if below, ok := strings.CutPrefix(target, "/proc/"); ok && below != "" && '0' <= below[0] && below[0] <= '9' {
		return settingProcess
	}
	key, root := "tools.allow_write_paths", settingRoot
	if a == Read || a == List {
		key, root = "tools.allow_read_paths", settingRead
	}
	info, err := os.Stat(target)
	dir := target
	switch {
	case err == nil && info.IsDir() && a != Delete:
	case a == Delete, err != nil && (a == Write || isGlob(target)):
		dir = filepath.Dir(target)
		if info, err = os.Stat(dir); err == nil && info.IsDir() {
			break
		}
		fallthrough
	default:
		return fmt.Sprintf("add %s to %s", strconv.Quote("^"+regexp.QuoteMeta(target)+"$"), key)
	}
	if dir == filepath.Dir(dir) {
		return root
	}
	return fmt.Sprintf("add %s to %s, which opens all that is in there", strconv.Quote("^"+regexp.QuoteMeta(dir)+"(/|$)"),
		key)
}

// isGlob reports whether a path may be a pattern of the shell.
func isGlob(path string) bool { return strings.ContainsAny(path, "*?[") }
