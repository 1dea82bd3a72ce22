package guard

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// seedPatterns are the patterns of the seed's guard, as they stand there. They know nothing of quoting or of what a
// command would do; [ProfileSeedStrict] refuses what they match.
var seedPatterns = sync.OnceValue(func() []*regexp.Regexp {
	var all []*regexp.Regexp
	for _, expr := range []string{
		`(?i)\brm\s+-[rf]{1,2}\b`,
		`(?i)\bdel\s+/[fq]\b`,
		`(?i)\brmdir\s+/s\b`,
		`(?i)\b(format|mkfs|diskpart)\b\s`,
		`(?i)\bdd\s+if=`,
		`(?i)>\s*/dev/(sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|mmcblk\d|loop\d|dm-\d|md\d|sr\d|nbd\d)`,
		`(?i)\b(shutdown|reboot|poweroff)\b`,
		`:\(\)\s*\{.*\};\s*:`,
		`\$\([^)]+\)`,
		`\$\{[^}]+\}`,
		"`[^`]+`",
		`(?i)\|\s*sh\b`,
		`(?i)\|\s*bash\b`,
		`(?i)\bsudo\b`,
		`(?i)\bchmod\s+[0-7]{3,4}\b`,
		`(?i)\bchown\b`,
		`(?i)\bpkill\b`,
		`(?i)\bkillall\b`,
		`(?i)\bkill\s+-[9]\b`,
		`(?i)\bcurl\b.*\|\s*(sh|bash)`,
		`(?i)\bwget\b.*\|\s*(sh|bash)`,
		`(?i)\bssh\b.*@`,
		`(?i)\bapt\s+(install|remove|purge)\b`,
		`(?i)\byum\s+(install|remove)\b`,
		`(?i)\bdnf\s+(install|remove)\b`,
		`(?i)\bnpm\s+install\s+-g\b`,
		`(?i)\bpip\s+install\s+--user\b`,
		`(?i)\bdocker\s+run\b`,
		`(?i)\bdocker\s+exec\b`,
		`(?i)\bgit\s+push\b`,
		`(?i)\bgit\s+force\b`,
	} {
		all = append(all, regexp.MustCompile(expr))
	}
	return all
})

// seedPath finds what the seed's guard takes for an absolute path.
var seedPath = pattern.New(`/[^\s"']+`)

// seedTraversal finds a step to a parent directory.
var seedTraversal = pattern.New(`(^|[\s"'/=:])\.\.(/|[\s"']|$)`)

// strict refuses what the seed's guard refuses, by the text as it stands.
func (a *analysis) strict() {
	const setting = "set tools.exec.profile to \"default\" to have commands judged by what they do, which may refuse it as well"
	if a.rules {
		for _, re := range seedPatterns() {
			if at := re.FindStringIndex(a.text); at != nil {
				a.add(finding{verdict: Deny, rule: "exec.seed-pattern", tier: tierHard, line: reasonDangerous, setting: setting, span: a.span(at),
					why: fmt.Sprintf("profile seed_strict refuses whatever the pattern %q matches", re.String())})
			}
		}
	}
	if !a.paths {
		return
	}
	if at := seedTraversal.FindStringIndex(a.text); at != nil {
		a.add(finding{verdict: Deny, rule: ruleOutside, line: reasonWorkdir, setting: setting, span: a.span(at),
			why: "profile seed_strict refuses every step to a parent directory"})
	}
	for _, at := range seedPath.FindAllStringIndex(a.text) {
		if path := a.text[at[0]:at[1]]; !a.seedInside(path) {
			a.add(finding{verdict: Deny, rule: ruleOutside, line: reasonWorkdir, setting: setting, span: a.span(at),
				why: "profile seed_strict takes " + path + " for a path outside the workspace"})
		}
	}
}

// seedInside says whether the seed's guard lets what it takes for a path pass.
func (a *analysis) seedInside(path string) bool {
	return safeDevices[path] || withinAny(a.guard.workspaces, path) || a.guard.opened(Read, path)
}

// span is a part of the text as the decision tells it.
func (a *analysis) span(at []int) shell.Span {
	before := a.text[:at[0]]
	return shell.Span{Start: at[0], End: at[1], Line: 1 + strings.Count(before, "\n"), Column: at[0] - strings.LastIndexByte(before, '\n')}
}
