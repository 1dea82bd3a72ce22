package guard

import (
	"fmt"
	"path"
	"regexp"
	"slices"
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

// Rule decides on the commands that fulfil its conditions. Built-in rules and operators' own have the same form.
type Rule = rules.Rule

// ParseRules reads rules in the form that the built-in ones have: a JSON array. File names where they stand, for errors
// and for [Decision.File].
func ParseRules(file string, data []byte) ([]Rule, error) { return rules.Parse(file, data) }

// judge applies the rules to one simple command.
func (a *analysis) judge(c *shell.Call, name string, argv []string) {
	if !a.guard.rules.Concerns(name) {
		return
	}
	found := a.guard.rules.Find(rules.New(name, argv[1:], c.Via))
	lifted := slices.ContainsFunc(found, func(r *Rule) bool { return r.Decision == rules.Allow })
	for _, rule := range found {
		if rule.Decision != rules.Allow && !temporary(rule.ID, argv[1:]) {
			a.apply(c, rule, name, argv, lifted)
		}
	}
}

// apply refuses a command by a rule, if neither a custom allow pattern, nor an operator's rule, nor undo lifts it.
func (a *analysis) apply(c *shell.Call, rule *Rule, name string, argv []string, lifted bool) {
	f := finding{verdict: Deny, rule: rule.ID, file: rule.File, tier: rule.Tier, line: reasonDangerous, span: c.Span(),
		argv: argv,
		why:  fmt.Sprintf("%s %s: %s", name, rule.Why, shown(c, argv)), safer: rule.Instead, setting: settingHard}
	if rule.Decision == rules.Ask {
		f.verdict = Ask
	}
	if rule.Tier == rules.Soft {
		if lifted || a.allowed(argv) {
			return
		}
		f.setting = lifting(argv)
		if rule.Undoable && a.guard.policy.Exec.UndoableDeletes {
			why := a.irretrievable(c, name)
			if why == "" {
				a.soften(rule.ID)
				return
			}
			f.setting += "; tools.exec.undoable_deletes doesn't lift it here, as " + why
		}
	}
	a.add(f)
}

// shown is a simple command for people: in its canonical form, or as it stands in the text where parts of it are only
// known when it runs.
func shown(c *shell.Call, argv []string) string {
	if source := c.SourceText(); len(c.Argv) > 0 && shell.HasUnknown(strings.Join(argv, " ")) && !strings.Contains(source,
		"\n") {
		if at := strings.LastIndex(source, path.Base(c.Argv[0].Text)+" "); at >= 0 {
			return strings.TrimRight(source[at:], " ;&|")
		}
	}
	return canonical(argv)
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

// fed is why no pattern is proposed for a program that is refused for what it reads.
const fed = "a pattern would allow %s with whatever it is fed; have it run a file that can be read"

// soft adds a finding about a whole line that a custom allow pattern lifts. None is proposed: it would match whatever
// the program is fed.
func (a *analysis) soft(c *shell.Call, rule, why, safer string) {
	argv := shell.FieldTexts(c.Argv)
	if a.rules && !a.allowed(argv) {
		name := "it"
		if len(argv) > 0 {
			name = argv[0]
		}
		a.add(finding{verdict: Deny, rule: rule, tier: tierSoft, line: reasonDangerous, why: why, span: c.Span(), argv: argv,
			safer: safer, setting: fmt.Sprintf(fed, name)})
	}
}

// hard adds a finding that no pattern lifts.
func (a *analysis) hard(c *shell.Call, rule, why string) {
	if a.rules {
		a.add(finding{verdict: Deny, rule: rule, tier: tierHard, line: reasonDangerous, why: why, span: c.Span(),
			argv: shell.FieldTexts(c.Argv), setting: settingHard})
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
