package guard

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/rules"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

const (
	saferPlain    = "write the command so that it can be read without running it"
	saferSaved    = "save it in the workspace, read it, then run it from there"
	settingHard   = "no pattern lifts this rule; tools.exec.enable_deny_patterns: false switches all rules off"
	settingKernel = "isolation.enabled: true has the kernel confine it instead"
)

// judge applies the rules to one simple command.
func (a *analysis) judge(c *shell.Call, name string, argv []string) {
	if !rules.Concern(name) {
		return
	}
	for _, rule := range rules.Find(rules.New(name, argv[1:], c.Via)) {
		if !temporary(rule.ID, argv[1:]) {
			a.apply(c, rule, name, argv)
		}
	}
}

// apply refuses a command by a rule, if no custom allow pattern lifts it.
func (a *analysis) apply(c *shell.Call, rule *rules.Rule, name string, argv []string) {
	f := finding{verdict: Deny, rule: rule.ID, tier: tierHard, line: reasonDangerous, span: c.Span(), argv: argv,
		why: fmt.Sprintf("%s %s: %s", name, rule.Reason, canonical(argv)), safer: rule.Safer, setting: settingHard}
	if rule.Tier == rules.Soft {
		if a.allowed(argv) {
			return
		}
		f.tier, f.setting = tierSoft, lifting(argv)
	}
	a.add(f)
}

// temporary reports whether a rule about deleting meets a command that deletes what mktemp has made before it.
func temporary(rule string, args []string) bool {
	find := rule == "exec.find-delete"
	if !find && !strings.HasPrefix(rule, "exec.rm-") {
		return false
	}
	made := false
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			if find {
				break // the conditions follow
			}
			continue
		}
		if made = strings.Contains(arg, shell.Temporary) && !strings.Contains(arg, ".."); !made {
			return false
		}
	}
	return made
}

// lifting names the setting that lifts a soft rule for one simple command.
func lifting(argv []string) string {
	if shell.HasUnknown(strings.Join(argv, " ")) {
		return "no pattern lifts it while part of the command is only known when it runs"
	}
	return "add " + strconv.Quote("^"+regexp.QuoteMeta(canonical(argv))+"$") + " to tools.exec.custom_allow_patterns"
}

// soft adds a finding that is no rule of a program's, but that a custom allow pattern lifts all the same.
func (a *analysis) soft(c *shell.Call, rule, why, safer string) {
	argv := shell.Texts(c.Argv)
	if a.rules && !a.allowed(argv) {
		a.add(finding{verdict: Deny, rule: rule, tier: tierSoft, line: reasonDangerous, why: why, span: c.Span(), argv: argv,
			safer: safer, setting: lifting(argv)})
	}
}

// hard adds a finding that no pattern lifts.
func (a *analysis) hard(c *shell.Call, rule, why string) {
	if a.rules {
		a.add(finding{verdict: Deny, rule: rule, tier: tierHard, line: reasonDangerous, why: why, span: c.Span(),
			argv: shell.Texts(c.Argv), setting: settingHard})
	}
}

// computed adds a finding about something that is only known when the command runs. What is fetched or decoded is
// refused; all else is left to the kernel, and asked about where the kernel confines nothing.
func (a *analysis) computed(p *shell.Place, rule, line, why, safer string, from []string) {
	f := finding{verdict: Ask, rule: rule, line: line, why: why, safer: safer, span: p.Span(), setting: settingKernel}
	if foreign(from) {
		f.verdict, f.tier, f.setting = Deny, tierHard, settingHard
		f.why += ": " + strings.Join(from, ", ") + " prints it"
	} else if a.guard.policy.Kernel {
		return
	}
	a.add(f)
}
