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

// Ids of path rules that other packages use.
const (
	RuleProtect    = "workspace.protect" // protected path inside the workspace
	RuleSymlink    = "workspace.symlink" // symlink that leads outside
	RuleUnresolved = "path.unresolved"   // unresolvable path
)

// Ids and messages of other path rules.
const (
	ruleMalformed   = "path.malformed"
	ruleOutside     = "workspace.outside"
	ruleRoot        = "workspace.root"
	ruleProtected   = "workspace.protected"
	ruleConstraint  = "constraint.paths"
	rulePrivate     = "sandbox.private"
	reasonOutside   = "access denied: path is outside the workspace"
	reasonSymlink   = "access denied: symlink resolves outside workspace"
	maxPath         = 4096 // bytes, as Linux has it (PATH_MAX)
	settingGuarded  = "no setting opens this, because it restricts the agent"
	settingProcess  = "no setting allows this: it belongs to one process, and another process makes the next call"
	settingShared   = `call a tool for files; or allow an existing directory, as "^/tmp/name(/|$)" does, which commands share`
	saferInside     = "use a path inside the workspace"
	hintConstraints = "constraints.paths of the agent's module"
)

// DecidePath decides on access to a path, which is relative to the workspace. "~", "%2e%2e" and "file://" have no
// special meaning.
//
// The policy must allow both the path as written and the path with resolved symlinks. [Decision.Path] is the resolved
// path. The target can change before it is used, so open it through package workspace.
func (g *Guard) DecidePath(a AccessKind, path string) Decision {
	return g.decidePathCached(nil, a, path)
}

// commandPathCache caches resolved paths for one command, and holds the commands' home. A nil commandPathCache means
// that the access is not by a command.
type commandPathCache struct {
	paths.PathResolver
	home string // resolved [ExecPolicy.Home]
}

func (k *commandPathCache) resolvePath(path string) (string, error) {
	if k == nil {
		return paths.Resolve(path)
	}
	return k.Resolve(path)
}

func (g *Guard) decidePathCached(k *commandPathCache, a AccessKind, path string) Decision {
	if reason := findPathProblem(path); reason != "" {
		return Decision{Verdict: Deny, Rule: ruleMalformed, Reason: "access denied: " + reason}.withRemedy(saferInside, "")
	}
	abs := path
	if !filepath.IsAbs(path) {
		abs = g.workspaces[0] + string(filepath.Separator) + path
	}
	return g.decideAbsolutePath(k, a, path, abs)
}

// decideAbsolutePath decides on the absolute path abs. path is its form in messages.
func (g *Guard) decideAbsolutePath(k *commandPathCache, a AccessKind, path, abs string) Decision {
	clean := filepath.Clean(abs)
	if len(g.allowed) > 0 {
		named := paths.Rebase(clean, g.policy.WorkspaceName, g.workspaces[0])
		if !paths.WithinAny(g.allowed, named) && !paths.WithinAny(g.policy.Paths, named) {
			return g.newPathAllowlistRefusal(clean)
		}
	}
	real, err := k.resolvePath(clean)
	itself := real
	if a == Delete && !strings.HasSuffix(path, "/") && !strings.HasSuffix(path, "/.") {
		// Deleting a symlink does not affect its target.
		if dir, dirErr := k.resolvePath(filepath.Dir(clean)); dirErr == nil {
			itself, err = filepath.Join(dir, filepath.Base(clean)), nil
		}
	}
	if errors.Is(err, syscall.ENAMETOOLONG) {
		return Decision{Verdict: Deny, Rule: ruleMalformed,
			Reason: "access denied: a name in the path is longer than this system takes"}.withRemedy("use a shorter name", "")
	}
	if err != nil {
		return Decision{Verdict: Deny, Rule: RuleUnresolved,
			Reason: "access denied: the path can't be resolved: " + escapeUnprintable(err.Error())}.withRemedy(saferInside, "")
	}
	// "link/.." is the link's directory to this function and the target's parent to the kernel; both must be allowed.
	if strings.Contains(abs, "..") {
		if kernel, err := k.resolvePath(abs); err == nil && kernel != real {
			if d := g.decideResolvedTarget(k, a, clean, kernel); d.Verdict != Allow {
				return d
			}
			if d := g.decideProtectedChange(k, a, kernel); d.Verdict != Allow {
				return d
			}
		}
	}
	if d := g.decideResolvedTarget(k, a, clean, itself); d.Verdict != Allow {
		return d
	}
	if a == Delete && paths.Within(itself, g.workspaces[0]) {
		return Decision{Verdict: Deny, Rule: ruleRoot, Path: itself,
			Reason: "access denied: the workspace itself can't be deleted"}.withRemedy("delete what is inside it", "")
	}
	return g.decideProtectedChange(k, a, itself)
}

func (g *Guard) decideResolvedTarget(k *commandPathCache, a AccessKind, clean, target string) Decision {
	lexical := paths.WithinAny(g.workspaces, clean)
	switch {
	case !g.policy.Restrict:
	case lexical && paths.Within(g.workspaces[0], target):
	case k != nil && k.home != "" && paths.Within(k.home, target):
	case !g.isWhitelisted(a, target):
		d := Decision{Verdict: Deny, Rule: ruleOutside, Reason: reasonOutside, Path: target}
		if lexical {
			d.Rule, d.Reason = RuleSymlink, reasonSymlink
		}
		if g.isProtected(a, target) {
			return d.withRemedy(saferInside, settingGuarded)
		}
		return d.withRemedy("", settingToAllow(a, target))
	case k != nil && g.isPrivateToCommands(a, target):
		return Decision{Verdict: Deny, Rule: rulePrivate, Path: target,
			Reason: "access denied: commands have another " + strings.Join(g.policy.Exec.Private, " and ") + " than tools"}.
			withRemedy("", settingShared)
	case g.isProtected(a, target):
		return Decision{Verdict: Deny, Rule: ruleProtected, Reason: reasonOutside, Path: target}.withRemedy(saferInside,
			settingGuarded)
	}
	if len(g.allowed) > 0 && !paths.WithinAny(g.allowed, target) {
		return g.newPathAllowlistRefusal(target)
	}
	return Decision{Verdict: Allow, Path: target}
}

// decideProtectedChange decides on a change of a protected path. The workspace checks files that are protected by
// content, and the command monitor checks directories.
func (g *Guard) decideProtectedChange(k *commandPathCache, a AccessKind, target string) Decision {
	if a == Read || a == List {
		return Decision{Verdict: Allow, Path: target}
	}
	hit, ok := g.inside.Match(target)
	judged := hit.ContentRule != "" && hit.ContentRule != "gitlink" && !g.policy.Unwatched
	if ok && judged && (k == nil || hit.IsEditedInPlace()) {
		ok = false
	}
	if !ok && a == Delete && k == nil {
		hits, err := g.inside.FindProtectedInTree(target, target)
		if err != nil {
			return Decision{Verdict: Deny, Rule: RuleProtect, Path: target,
				Reason: "access denied: protected files can't be looked for: " + escapeUnprintable(err.Error())}
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
		Reason: fmt.Sprintf("access denied: %s is protected", escapeUnprintable(g.inside.RelativeName(hit.Path)))}
	if hit.Ask {
		d.Verdict = Ask
	}
	return d.withRemedy("", hit.Remedy())
}

// DecideDeclaredProtectedFiles decides on protected files that a command names in advance. They need approval, or the operator
// denies them. It denies names that are not protected, so that an approval covers exactly the listed files.
func (g *Guard) DecideDeclaredProtectedFiles(named []string) Decision {
	if len(named) == 0 {
		return Decision{Verdict: Allow}
	}
	for _, path := range named {
		d := g.DecidePath(Delete, path)
		if d.Verdict == Deny {
			return d
		}
		if _, ok := g.inside.Match(d.Path); !ok {
			return Decision{Verdict: Deny, Rule: RuleProtect, Path: d.Path, Reason: "access denied: " + escapeUnprintable(path) +
				" is not protected"}.withRemedy("name protected files in protected_paths, such as .git/config", "")
		}
	}
	return Decision{Verdict: Ask, Rule: RuleProtect, Path: named[0], Reason: "the command may change " +
		escapeUnprintable(strings.Join(named, ", ")) + ", which git, shell, editor or CI act on later on your side"}
}

// newPathAllowlistRefusal returns the refusal of a path outside the policy's Paths.
func (g *Guard) newPathAllowlistRefusal(target string) Decision {
	return Decision{Verdict: Deny, Rule: ruleConstraint, Path: target,
		Reason: fmt.Sprintf("Path '%s' is outside allowed paths", escapeUnprintable(target))}.
		withRemedy("", fmt.Sprintf("add %s to %s", strconv.Quote(filepath.Dir(target)), hintConstraints))
}

// isProtected reports whether the policy's Protected list forbids access to a resolved path, or deleting a directory
// above a protected path.
func (g *Guard) isProtected(a AccessKind, target string) bool {
	if paths.WithinAny(g.open, target) {
		return false
	}
	return paths.WithinAny(g.protected, target) || a == Delete && slices.ContainsFunc(g.protected,
		func(path string) bool { return paths.Within(target, path) })
}

// isPrivateToCommands reports whether commands see a private directory at a path. A whitelist may open the real one to
// tools.
func (g *Guard) isPrivateToCommands(a AccessKind, target string) bool {
	if reading := a == Read || a == List; reading && g.policy.AllowReadOutside {
		return false
	}
	e := g.policy.Exec
	return paths.WithinAny(e.Private, target) && !paths.WithinAny(e.Shared, target)
}

// isWhitelisted reports whether a whitelist allows access to a resolved path outside the workspace.
func (g *Guard) isWhitelisted(a AccessKind, target string) bool {
	patterns := g.writePaths
	if a == Read || a == List {
		if g.policy.AllowReadOutside {
			return true
		}
		patterns = g.readPaths
	}
	return matchesAnyPattern(patterns, target)
}

// findPathProblem returns the reason that a path is invalid, or "".
func findPathProblem(path string) string {
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

// escapeUnprintable escapes a text with unprintable characters, which could forge a line or hide in an error or log.
func escapeUnprintable(s string) string {
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

// settingToAllow returns the setting that would allow access to a file. A directory, or a file to create or delete, can
// only be allowed together with everything in its directory, because the kernel layer works that way.
func settingToAllow(a AccessKind, target string) string {
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
	case a == Delete, err != nil && (a == Write || mayBeGlob(target)):
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
	return fmt.Sprintf("add %s to %s, which allows everything in it", strconv.Quote("^"+regexp.QuoteMeta(dir)+"(/|$)"),
		key)
}

// mayBeGlob reports whether a path may be a shell pattern.
func mayBeGlob(path string) bool { return strings.ContainsAny(path, "*?[") }
