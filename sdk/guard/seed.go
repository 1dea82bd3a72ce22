package guard

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// seedPatterns are the deny patterns of the original guard, for [ProfileSeedStrict]. They ignore quoting and effects.
var seedPatterns = []func() *regexp.Regexp{
	lazyregexp.New(`(?i)\brm\s+-[rf]{1,2}\b`),
	lazyregexp.New(`(?i)\bdel\s+/[fq]\b`),
	lazyregexp.New(`(?i)\brmdir\s+/s\b`),
	lazyregexp.New(`(?i)\b(format|mkfs|diskpart)\b\s`),
	lazyregexp.New(`(?i)\bdd\s+if=`),
	lazyregexp.New(`(?i)>\s*/dev/(sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|mmcblk\d|loop\d|dm-\d|md\d|sr\d|nbd\d)`),
	lazyregexp.New(`(?i)\b(shutdown|reboot|poweroff)\b`),
	lazyregexp.New(`:\(\)\s*\{.*\};\s*:`),
	lazyregexp.New(`\$\([^)]+\)`),
	lazyregexp.New(`\$\{[^}]+\}`),
	lazyregexp.New("`[^`]+`"),
	lazyregexp.New(`(?i)\|\s*sh\b`),
	lazyregexp.New(`(?i)\|\s*bash\b`),
	lazyregexp.New(`(?i)\bsudo\b`),
	lazyregexp.New(`(?i)\bchmod\s+[0-7]{3,4}\b`),
	lazyregexp.New(`(?i)\bchown\b`),
	lazyregexp.New(`(?i)\bpkill\b`),
	lazyregexp.New(`(?i)\bkillall\b`),
	lazyregexp.New(`(?i)\bkill\s+-[9]\b`),
	lazyregexp.New(`(?i)\bcurl\b.*\|\s*(sh|bash)`),
	lazyregexp.New(`(?i)\bwget\b.*\|\s*(sh|bash)`),
	lazyregexp.New(`(?i)\bssh\b.*@`),
	lazyregexp.New(`(?i)\bapt\s+(install|remove|purge)\b`),
	lazyregexp.New(`(?i)\byum\s+(install|remove)\b`),
	lazyregexp.New(`(?i)\bdnf\s+(install|remove)\b`),
	lazyregexp.New(`(?i)\bnpm\s+install\s+-g\b`),
	lazyregexp.New(`(?i)\bpip\s+install\s+--user\b`),
	lazyregexp.New(`(?i)\bdocker\s+run\b`),
	lazyregexp.New(`(?i)\bdocker\s+exec\b`),
	lazyregexp.New(`(?i)\bgit\s+push\b`),
	lazyregexp.New(`(?i)\bgit\s+force\b`),
}

// seedPathPattern matches a word from its first slash on.
var seedPathPattern = lazyregexp.New(`/[^\s"';&|<>()]+`)

// seedTraversalPattern matches a step to a parent directory.
var seedTraversalPattern = lazyregexp.New(`(^|[\s"'/=:])\.\.(/|[\s"']|$)`)

// seedRelativePattern matches the start of a relative path such as src/a or ./a, up to its first slash. It excludes
// options, because -I/usr and -isystem/usr contain an absolute path.
var seedRelativePattern = lazyregexp.New(`^[\pL\pN_.+%*?\[\]][\pL\pN_.+%*?\[\]-]*$`)

// seedURLSchemes are URL schemes of other machines.
var seedURLSchemes = map[string]bool{
	"amqp": true, "docker": true, "ftp": true, "ftps": true, "git": true, "git+ssh": true, "gs": true, "http": true, "https": true,
	"mysql": true, "oci": true, "postgres": true, "postgresql": true, "redis": true, "s3": true, "ssh": true, "ws": true,
	"wss": true,
}

// addSeedProfileFindings adds findings for texts that the seed profile refuses. Custom allow patterns lift them for
// whole commands.
func (a *commandAnalysis) addSeedProfileFindings() {
	setting := "set tools.exec.profile to \"default\" to decide by the effects of commands, " +
		"which may refuse it as well"
	if !a.guard.policy.Kernel {
		setting = "isolation.enabled: true lifts this profile where a sandbox works; without one it is forced"
	}
	if a.rules {
		for _, pattern := range seedPatterns {
			re := pattern()
			for _, at := range re.FindAllStringIndex(a.text, -1) {
				if a.isInAllowedCommand(at) {
					continue
				}
				a.keepStrictestFinding(commandFinding{verdict: Deny, rule: "exec.seed-pattern", tier: tierHard, line: reasonDangerous,
					setting: "tools.exec.custom_allow_patterns lifts this for a whole simple command; or " + setting,
					span:    a.newSourceSpan(at),
					why:     fmt.Sprintf("profile seed_strict refuses matches of the pattern %q", re.String())})
			}
		}
	}
	if !a.paths {
		return
	}
	if at := seedTraversalPattern().FindStringIndex(a.text); at != nil {
		a.keepStrictestFinding(commandFinding{verdict: Deny, rule: ruleOutside, line: reasonWorkdir, setting: setting, span: a.newSourceSpan(at),
			why: "profile seed_strict refuses every step to a parent directory"})
	}
	for _, at := range seedPathPattern().FindAllStringIndex(a.text, -1) {
		if path := a.text[at[0]:at[1]]; !a.isAllowedBySeedProfile(path) && !isRestOfPathOrURL(a.text[:at[0]], path) {
			a.keepStrictestFinding(commandFinding{verdict: Deny, rule: ruleOutside, line: reasonWorkdir, setting: setting, span: a.newSourceSpan(at),
				why: "profile seed_strict takes " + path + " for a path outside the workspace"})
		}
	}
}

// isRestOfPathOrURL reports whether path, a word from its first slash on, is only the rest of a relative path or URL.
// before is the text up to that slash.
func isRestOfPathOrURL(before, path string) bool {
	const separators = " \t\n'\"=:,;&|<>(){}"
	if strings.HasPrefix(path, "//") {
		scheme, ok := strings.CutSuffix(before, ":")
		return ok && seedURLSchemes[strings.ToLower(scheme[strings.LastIndexAny(scheme, separators)+1:])]
	}
	return seedRelativePattern().MatchString(before[strings.LastIndexAny(before, separators)+1:])
}

// isInAllowedCommand reports whether a range of the text is in a simple command that a custom allow pattern matches.
func (a *commandAnalysis) isInAllowedCommand(at []int) bool {
	return slices.ContainsFunc(a.allowed, func(s shell.SourceSpan) bool { return s.Start <= at[0] && at[1] <= s.End })
}

// isAllowedBySeedProfile reports whether seed-strict allows a path.
func (a *commandAnalysis) isAllowedBySeedProfile(path string) bool {
	return safeDevices[path] || paths.WithinAny(a.guard.workspaces, path) || a.guard.isWhitelisted(Read, path)
}

// newSourceSpan returns a byte range of the text with its line and column.
func (a *commandAnalysis) newSourceSpan(at []int) shell.SourceSpan {
	return shell.NewLocation(a.text, at[0], at[1], "").Span()
}
