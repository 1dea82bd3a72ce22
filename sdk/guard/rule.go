package guard

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
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

// ParseExecRules parses a JSON array of command rules in the form of the built-in ones. file is their source in errors
// and in [Decision.File].
func ParseExecRules(file string, data []byte) ([]Rule, error) { return rules.ParseRules(file, data) }

func (a *commandAnalysis) addCommandRuleFindings(c *shell.SimpleCommand, name string, argv []string) {
	if !a.guard.rules.HasRulesFor(name) {
		return
	}
	found := a.guard.rules.FindMatchingRules(rules.NewRuleCommand(name, argv[1:], c.Via))
	lifted := slices.ContainsFunc(found, func(r *Rule) bool { return r.Decision == rules.Allow })
	for _, rule := range found {
		if rule.Decision != rules.Allow && !deletesOnlyTempFiles(rule.ID, argv[1:]) {
			a.addRuleFinding(c, rule, name, argv, lifted)
		}
	}
}

// addRuleFinding adds the finding of a rule, unless a custom allow pattern, an operator's rule or undo lifts it.
func (a *commandAnalysis) addRuleFinding(c *shell.SimpleCommand, rule *Rule, name string, argv []string, lifted bool) {
	f := commandFinding{verdict: Deny, rule: rule.ID, file: rule.File, tier: rule.Tier, line: reasonDangerous, span: c.Span(),
		argv: argv,
		why:  fmt.Sprintf("%s %s: %s", name, rule.Why, formatCommand(c, argv)), safer: rule.Instead, setting: settingHard}
	if rule.Decision == rules.Ask {
		f.verdict = Ask
	}
	if rule.Tier == rules.Soft {
		if lifted || a.matchesCustomAllow(argv) {
			return
		}
		f.setting = customAllowSetting(argv)
		if rule.Undoable && a.guard.policy.Exec.UndoableDeletes {
			why := a.whyNotUndoable(c, name)
			if why == "" {
				a.recordRuleLiftedByUndo(rule.ID)
				return
			}
			f.setting += "; tools.exec.undoable_deletes doesn't lift it here, as " + why
		}
	}
	a.keepStrictestFinding(f)
}

// formatCommand returns a simple command for messages: in canonical form, or as source text if parts are unknown.
func formatCommand(c *shell.SimpleCommand, argv []string) string {
	if source := c.SourceText; len(c.Argv) > 0 && shell.HasUnknown(strings.Join(argv, " ")) && !strings.Contains(source,
		"\n") {
		if at := strings.LastIndex(source, path.Base(c.Argv[0].Text)+" "); at >= 0 {
			return strings.TrimRight(source[at:], " ;&|")
		}
	}
	return canonicalCommandText(argv)
}

// deletesOnlyTempFiles reports whether a command only deletes files that mktemp creates in the same text.
func deletesOnlyTempFiles(rule string, args []string) bool {
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

// customAllowSetting returns the custom allow pattern that would lift a soft rule for a command.
func customAllowSetting(argv []string) string {
	if shell.HasUnknown(strings.Join(argv, " ")) {
		return "no pattern lifts it while part of the command is only known when it runs"
	}
	return "add " + strconv.Quote("^"+regexp.QuoteMeta(canonicalCommandText(argv))+"$") + " to tools.exec.custom_allow_patterns"
}

// stdinHint explains why there is no pattern to allow a program that reads its code from stdin.
const stdinHint = "a pattern would allow %s with whatever it is fed; have it run a file that can be read"

// addLiftableFinding adds a finding that a custom allow pattern lifts. It proposes no pattern, since one would allow any
// input.
func (a *commandAnalysis) addLiftableFinding(c *shell.SimpleCommand, rule, why, safer string) {
	argv := shell.ArgumentTexts(c.Argv)
	if a.rules && !a.matchesCustomAllow(argv) {
		name := "it"
		if len(argv) > 0 {
			name = argv[0]
		}
		a.keepStrictestFinding(commandFinding{verdict: Deny, rule: rule, tier: tierSoft, line: reasonDangerous, why: why, span: c.Span(), argv: argv,
			safer: safer, setting: fmt.Sprintf(stdinHint, name)})
	}
}

// addUnliftableFinding adds a finding that no custom allow pattern lifts.
func (a *commandAnalysis) addUnliftableFinding(c *shell.SimpleCommand, rule, why string) {
	if a.rules {
		a.keepStrictestFinding(commandFinding{verdict: Deny, rule: rule, tier: tierHard, line: reasonDangerous, why: why, span: c.Span(),
			argv: shell.ArgumentTexts(c.Argv), setting: settingHard})
	}
}

// addComputedFinding adds a finding about a value known only at run time. It denies downloaded or decoded code; other
// values need approval, unless the kernel restricts commands.
func (a *commandAnalysis) addComputedFinding(p *shell.CommandLocation, rule, line, why, safer string, from []string) {
	f := commandFinding{verdict: Ask, rule: rule, line: line, why: why, safer: safer, span: p.Span(), setting: settingKernel}
	if anyDownloadsOrDecodes(from) {
		f.verdict, f.tier, f.setting = Deny, tierHard, settingHard
		f.why += ": " + strings.Join(from, ", ") + " prints it"
	} else if a.guard.policy.Kernel {
		return
	}
	a.keepStrictestFinding(f)
}

// CheckRuleExamples tests the examples of an operator's rules. Each rule must match its hit commands and none of its
// miss commands. Together with all other rules, its decision must win for its hits. The error names rule, command and
// remedy.
func CheckRuleExamples(own []Rule) error {
	set := rules.BuiltinRules().WithOperatorRules(own)
	all := newRulesOnlyGuard(set)
	for _, r := range own {
		if r.Structure {
			return fmt.Errorf(`%s: "structure" is for built-in rules; leave it out, and name programs`, r.ID)
		}
		if r.Undoable {
			return fmt.Errorf(`%s: "undoable" is for built-in rules; leave it out`, r.ID)
		}
		if len(r.Hit)+len(r.Miss) == 0 {
			continue
		}
		alone := newSingleRuleGuard(r, set)
		for _, line := range r.Hit {
			if !singleRuleMatches(alone, line) {
				return fmt.Errorf("%s: its hit %q isn't found; correct the conditions, or the example", r.ID, line)
			}
			if err := checkExampleDecision(&r, all, line); err != nil {
				return err
			}
		}
		for _, line := range r.Miss {
			if singleRuleMatches(alone, line) {
				return fmt.Errorf("%s: its miss %q is found; narrow the conditions, or correct the example", r.ID, line)
			}
		}
	}
	return nil
}

// checkExampleDecision returns an error if all rules together decide differently from the rule.
func checkExampleDecision(r *Rule, all *Guard, line string) error {
	d := all.DecideCommand(Command{Text: line})
	switch {
	case r.Decision == rules.Allow && d.Verdict != Allow:
		return fmt.Errorf("%s: its hit %q isn't allowed, as %s refuses it; only soft rules can be lifted", r.ID, line, d.Rule)
	case r.Decision != rules.Allow && d.Verdict == Allow:
		return fmt.Errorf("%s: its hit %q is allowed, as another rule lifts this one; make it hard, or narrow the other",
			r.ID, line)
	case r.Decision == rules.Ask && d.Verdict == Deny:
		return fmt.Errorf("%s: its hit %q is refused by %s before anybody is asked; "+
			"have another rule allow it and make this one hard, or correct the example", r.ID, line, d.Rule)
	}
	return nil
}

// testRuleID is an invalid id for the rule under test.
const testRuleID = "?"

// newSingleRuleGuard returns a guard with one rule, and with the Takes of all other rules.
func newSingleRuleGuard(r Rule, all *rules.RuleSet) *Guard {
	r.ID, r.Decision, r.Tier = testRuleID, rules.Deny, rules.Hard
	kept := []Rule{r}
	for _, other := range all.Rules() {
		if len(other.Takes) > 0 {
			kept = append(kept, Rule{Programs: other.Programs, Takes: other.Takes, Decision: rules.Allow})
		}
	}
	return newRulesOnlyGuard(new(rules.RuleSet).WithOperatorRules(kept))
}

func singleRuleMatches(alone *Guard, line string) bool {
	return alone.DecideCommand(Command{Text: line}).Rule == testRuleID
}

// newRulesOnlyGuard returns a guard that applies rules and ignores paths.
func newRulesOnlyGuard(set *rules.RuleSet) *Guard {
	policy := Policy{Kernel: true, Exec: ExecPolicy{DenyPatterns: true}}
	return &Guard{policy: policy, workspaces: []string{string(filepath.Separator)}, rules: set}
}

// localStarters are programs that start a command on this machine, in the same directory and with unchanged words.
var localStarters = map[string]bool{
	"bash": true, "command": true, "dash": true, "env": true, "ionice": true, "nice": true, "nohup": true, "setsid": true,
	"sh": true, "stdbuf": true, "time": true, "timeout": true,
}

// recordRuleLiftedByUndo records a rule that was lifted because undo covers its effect.
func (a *commandAnalysis) recordRuleLiftedByUndo(rule string) {
	if !slices.Contains(a.softened, rule) {
		a.softened = append(a.softened, rule)
	}
}

// whyNotUndoable returns the reason that undo may not restore a command's deletions, or "".
func (a *commandAnalysis) whyNotUndoable(c *shell.SimpleCommand, name string) string {
	switch {
	case !a.undoable:
		return "undo does not cover this command"
	case a.elsewhere || a.guessing || !a.staysInWorkspace(c, name):
		return "its words don't show that all it deletes lies in the workspace"
	}
	return ""
}

// staysInWorkspace reports whether a simple command works in the workspace and all its possible paths are in the
// workspace.
func (a *commandAnalysis) staysInWorkspace(c *shell.SimpleCommand, name string) bool {
	if c.Dir == "" || name == "git" && setsGitDir(c) || !a.isWorkspacePath(c.Dir, List, ".", false) {
		return false
	}
	for _, u := range programs.FindArgumentUses(name, c.Argv[1:]) {
		access := List
		switch u.Kind {
		case programs.Command: // decided on by itself
			continue
		case programs.Code, programs.Script, programs.Input:
			return false
		case programs.Data:
			if strings.ContainsAny(u.Text, ":=") { // host:path, or a setting
				return false
			}
		case programs.Write:
			if mayBeGlob(u.Text) { // a link may match, and what it leads to is written
				return false
			}
		case programs.List:
			// What is found is deleted, a starting point by its name too.
			if base := filepath.Base(u.Text); base != "." && base != ".." && !a.isWorkspacePath(c.Dir, Delete, u.Text, u.Glob) {
				return false
			}
		case programs.Delete:
			access = Delete
		}
		if !a.isWorkspacePath(c.Dir, access, u.Text, u.Glob) {
			return false
		}
	}
	return true
}

// isWorkspacePath reports whether a word certainly names a path in the workspace. Only its last component may be a
// pattern, since a symlink may match.
func (a *commandAnalysis) isWorkspacePath(dir string, access AccessKind, text string, glob bool) bool {
	if text == "" || shell.HasUnknown(text) {
		return false
	}
	if glob {
		text = expandDotDotGlobs(text)
	}
	abs := text
	if !filepath.IsAbs(text) {
		abs = dir + string(filepath.Separator) + text
	}
	if above, _ := filepath.Split(abs); mayBeGlob(above) {
		return false
	}
	workspace := Guard{policy: Policy{Restrict: true}, workspaces: a.guard.workspaces}
	return workspace.decideAbsolutePath(&commandPathCache{PathResolver: a.known.PathResolver}, access, text, abs).Verdict == Allow
}

// setsGitDir reports whether a variable may make git work in another directory.
func setsGitDir(c *shell.SimpleCommand) bool {
	return slices.ContainsFunc([]string{"GIT_DIR", "GIT_WORK_TREE", "GIT_CONFIG_COUNT"}, func(name string) bool {
		value, _ := c.LookupVar(name)
		return value+c.Env[name] != ""
	})
}
