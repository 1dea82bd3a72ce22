package guard

import (
	"fmt"
	"regexp"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// seedPatterns are the patterns of the seed's guard, as they stand there. They know nothing of quoting or of what a
// command would do; [ProfileSeedStrict] refuses what they match.
var seedPatterns = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\brm\s+-[rf]{1,2}\b`),
	regexp.MustCompile(`(?i)\bdel\s+/[fq]\b`),
	regexp.MustCompile(`(?i)\brmdir\s+/s\b`),
	regexp.MustCompile(`(?i)\b(format|mkfs|diskpart)\b\s`),
	regexp.MustCompile(`(?i)\bdd\s+if=`),
	regexp.MustCompile(`(?i)>\s*/dev/(sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|mmcblk\d|loop\d|dm-\d|md\d|sr\d|nbd\d)`),
	regexp.MustCompile(`(?i)\b(shutdown|reboot|poweroff)\b`),
	regexp.MustCompile(`:\(\)\s*\{.*\};\s*:`),
	regexp.MustCompile(`\$\([^)]+\)`),
	regexp.MustCompile(`\$\{[^}]+\}`),
	regexp.MustCompile("`[^`]+`"),
	regexp.MustCompile(`(?i)\|\s*sh\b`),
	regexp.MustCompile(`(?i)\|\s*bash\b`),
	regexp.MustCompile(`(?i)\bsudo\b`),
	regexp.MustCompile(`(?i)\bchmod\s+[0-7]{3,4}\b`),
	regexp.MustCompile(`(?i)\bchown\b`),
	regexp.MustCompile(`(?i)\bpkill\b`),
	regexp.MustCompile(`(?i)\bkillall\b`),
	regexp.MustCompile(`(?i)\bkill\s+-[9]\b`),
	regexp.MustCompile(`(?i)\bcurl\b.*\|\s*(sh|bash)`),
	regexp.MustCompile(`(?i)\bwget\b.*\|\s*(sh|bash)`),
	regexp.MustCompile(`(?i)\bssh\b.*@`),
	regexp.MustCompile(`(?i)\bapt\s+(install|remove|purge)\b`),
	regexp.MustCompile(`(?i)\byum\s+(install|remove)\b`),
	regexp.MustCompile(`(?i)\bdnf\s+(install|remove)\b`),
	regexp.MustCompile(`(?i)\bnpm\s+install\s+-g\b`),
	regexp.MustCompile(`(?i)\bpip\s+install\s+--user\b`),
	regexp.MustCompile(`(?i)\bdocker\s+run\b`),
	regexp.MustCompile(`(?i)\bdocker\s+exec\b`),
	regexp.MustCompile(`(?i)\bgit\s+push\b`),
	regexp.MustCompile(`(?i)\bgit\s+force\b`),
}

// seedPath finds what the seed's guard takes for an absolute path.
var seedPath = lazyregexp.New(`/[^\s"']+`)

// seedTraversal finds a step to a parent directory.
var seedTraversal = lazyregexp.New(`(^|[\s"'/=:])\.\.(/|[\s"']|$)`)

// strict refuses what the seed's guard refuses, by the text as it stands.
func (a *analysis) strict() {
	const setting = "set tools.exec.profile to \"default\" to have commands judged by what they do, " +
		"which may refuse it as well"
	if a.rules {
		for _, re := range seedPatterns {
			if at := re.FindStringIndex(a.text); at != nil {
				a.add(finding{verdict: Deny, rule: "exec.seed-pattern", tier: tierHard, line: reasonDangerous, setting: setting,
					span: a.span(at),
					why:  fmt.Sprintf("profile seed_strict refuses whatever the pattern %q matches", re.String())})
			}
		}
	}
	if !a.paths {
		return
	}
	if at := seedTraversal().FindStringIndex(a.text); at != nil {
		a.add(finding{verdict: Deny, rule: ruleOutside, line: reasonWorkdir, setting: setting, span: a.span(at),
			why: "profile seed_strict refuses every step to a parent directory"})
	}
	for _, at := range seedPath().FindAllStringIndex(a.text, -1) {
		if path := a.text[at[0]:at[1]]; !a.seedInside(path) {
			a.add(finding{verdict: Deny, rule: ruleOutside, line: reasonWorkdir, setting: setting, span: a.span(at),
				why: "profile seed_strict takes " + path + " for a path outside the workspace"})
		}
	}
}

// seedInside reports whether the seed's guard lets what it takes for a path pass.
func (a *analysis) seedInside(path string) bool {
	return safeDevices[path] || paths.WithinAny(a.guard.workspaces, path) || a.guard.opened(Read, path)
}

// span is a part of the text as the decision tells it.
func (a *analysis) span(at []int) shell.Span {
	return shell.NewPlace(a.text, at[0], at[1], "").Span()
}
