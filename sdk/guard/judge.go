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
	saferPlain  = "write the command so that it can be read without running it"
	saferSaved  = "save it in the workspace, read it, then run it from there"
	settingHard = "no pattern lifts this rule; tools.exec.enable_deny_patterns: false switches all rules off"
)

// judge applies the rules to one simple command.
func (a *analysis) judge(c *shell.Call, name string, argv []string) {
	set := rules.Builtin()
	if !set.Concerns(name) {
		return
	}
	for _, rule := range set.Find(rules.New(name, argv[1:], c.Via)) {
		a.apply(c, rule, name, argv)
	}
}

// apply refuses a command by a rule, or asks about it, if no custom allow pattern lifts the rule.
func (a *analysis) apply(c *shell.Call, rule *rules.Rule, name string, argv []string) {
	f := finding{verdict: Deny, rule: rule.ID, tier: tierHard, line: reasonDangerous, span: c.Span, argv: argv,
		why: fmt.Sprintf("%s %s: %s", name, rule.Why, canonical(argv)), safer: rule.Instead, setting: settingHard}
	if rule.Decision == rules.Ask {
		f.verdict = Ask
	}
	if rule.Tier == rules.Soft {
		if a.allowed(argv) {
			return
		}
		f.tier, f.setting = tierSoft, allowing(argv)
	}
	a.add(f)
}

// allowing names the setting that lifts a soft rule for one simple command.
func allowing(argv []string) string {
	if shell.HasUnknown(strings.Join(argv, " ")) {
		return "no pattern lifts it while part of the command is only known when it runs"
	}
	return "add " + strconv.Quote("^"+regexp.QuoteMeta(canonical(argv))+"$") + " to tools.exec.custom_allow_patterns"
}

// soft adds a finding that is no rule of a program's, but that a custom allow pattern lifts all the same.
func (a *analysis) soft(c *shell.Call, verdict Verdict, rule, why, safer string) {
	argv := shell.Texts(c.Argv)
	if !a.rules || a.allowed(argv) {
		return
	}
	f := finding{verdict: verdict, rule: rule, tier: tierSoft, line: reasonDangerous, why: why, span: c.Span, argv: argv, safer: safer, setting: allowing(argv)}
	a.add(f)
}

// hard adds a finding that no pattern lifts.
func (a *analysis) hard(c *shell.Call, rule, why string) {
	if a.rules {
		a.add(finding{verdict: Deny, rule: rule, tier: tierHard, line: reasonDangerous, why: why, span: c.Span, argv: shell.Texts(c.Argv), setting: settingHard})
	}
}
