package guard

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/rules"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

const (
	saferPlain  = "write the command so that it can be read without running it"
	saferTree   = "delete the files that you mean one by one, or work in a directory that the code makes by mkdtemp and names once"
	saferList   = "start the program with a list of its arguments instead of one string for the shell"
	saferSaved  = "save it in the workspace, read it, then run it from there"
	settingHard = "no pattern lifts this rule; tools.exec.enable_deny_patterns: false switches all rules off"
)

// judge applies the rules to one simple command.
func (a *analysis) judge(c *shell.Call, name string, argv []string) {
	if !rules.Concern(name) {
		return
	}
	for _, rule := range rules.Find(rules.New(name, argv[1:], c.Via)) {
		a.apply(c, rule, name, argv)
	}
}

// optionsByNames applies the rules to what a command is with the names that its patterns match, of files that the same line wrote
// and that look like options.
func (a *analysis) optionsByNames(c *shell.Call, name string, argv []string) {
	with := argv[:len(argv):len(argv)]
	for _, f := range c.Argv[1:] {
		if !f.Glob || strings.Contains(f.Text, "/") {
			continue
		}
		for _, file := range c.Matching(f.Text) {
			if base := path.Base(file); strings.HasPrefix(base, "-") {
				with = append(with, base)
			}
		}
	}
	if len(with) > len(argv) {
		a.judge(c, name, with)
	}
}

// optionsByValue refuses an rm of which a word that is only known when it runs may be an option, if it is to delete a directory:
// without -r that would only fail.
func (a *analysis) optionsByValue(c *shell.Call) {
	unknown := false
	for _, f := range c.Argv[1:] {
		if f.Text == "--" && !unknown {
			return // none of what follows is an option
		}
		unknown = unknown || strings.HasPrefix(f.Text, shell.Unknown) || strings.HasPrefix(f.Text, shell.Unset)
	}
	if !unknown {
		return
	}
	directory := slices.IndexFunc(c.Argv[1:], func(f shell.Field) bool {
		return !strings.HasPrefix(f.Text, "-") && !strings.HasPrefix(f.Text, shell.Unknown) && !strings.HasPrefix(f.Text, shell.Unset) && a.isDirectory(c, f)
	})
	if directory >= 0 {
		a.soft(c, Deny, "exec.rm-recursive", "rm may get -r by a word that is only known when it runs, and is to delete the directory "+c.Argv[1+directory].Text, saferPlain)
	}
}

// isDirectory says whether an operand is a directory, as it stands or as it is found.
func (a *analysis) isDirectory(c *shell.Call, f shell.Field) bool {
	if last := path.Base(f.Text); strings.HasSuffix(f.Text, "/") || last == "." || last == ".." || f.Glob && last == "*" {
		return true
	}
	if f.Glob || shell.HasUnknown(f.Text) || c.Dir == "" {
		return false
	}
	real, err := a.resolver.resolve(c.Abs(f.Text))
	if err != nil {
		return false
	}
	info, err := os.Lstat(real)
	return err == nil && info.IsDir()
}

// apply refuses a command by a rule, if no custom allow pattern lifts it.
func (a *analysis) apply(c *shell.Call, rule *rules.Rule, name string, argv []string) {
	f := finding{verdict: Deny, rule: rule.ID, tier: tierHard, line: reasonDangerous, span: c.Span, argv: argv,
		why: fmt.Sprintf("%s %s: %s", name, rule.Reason, shown(c, argv)), safer: rule.Safer, setting: settingHard}
	if rule.Tier == rules.Soft {
		if a.allowed(argv) || !a.moved && ownTemporary(c, rule.ID) {
			return
		}
		f.tier, f.setting = tierSoft, a.allowing(argv)
	}
	a.add(f)
}

// ownTemporary says whether all that a command deletes are files and directories that mktemp has made for the same command line.
func ownTemporary(c *shell.Call, rule string) bool {
	switch rule {
	case "exec.rm-recursive", "exec.rm-force":
		return c.Argv[0].Text == "rm" && removesOwn(c)
	case "exec.find-delete":
		return findsInOwn(c)
	}
	return false
}

// removesOwn is ownTemporary for rm. A trap may name what isn't made yet.
func removesOwn(c *shell.Call) bool {
	any := false
	for _, f := range c.Argv[1:] {
		switch {
		case f.Glob:
			return false
		case madeByMktemp(f.Text), c.Later && (f.Text == shell.Unset || f.Text == ""):
			any = true
		case !strings.HasPrefix(f.Text, "-"):
			return false
		}
	}
	return any
}

// findsInOwn is ownTemporary for find, which follows no links if it isn't told to.
func findsInOwn(c *shell.Call) bool {
	any, expression := false, false
	for _, f := range c.Argv[1:] {
		expression = expression || f.Text == "!" || strings.HasPrefix(f.Text, "(") || strings.HasPrefix(f.Text, "-")
		switch {
		case f.Glob, f.Text == "-H", f.Text == "-L", f.Text == "-follow", strings.HasPrefix(f.Text, "-files0"), !expression && !madeByMktemp(f.Text):
			return false
		}
		any = any || !expression
	}
	return any
}

// madeByMktemp says whether a path is that of a file or a directory that mktemp has made: in the directory for such files, or elsewhere
// by a name that has something in it which is nobody else's.
func madeByMktemp(path string) bool {
	name, below := strings.CutPrefix(path, "/"+shell.Temporary+"/")
	if !below {
		name = path[strings.LastIndexByte(path, '/')+1:]
		below = strings.Contains(name, shell.Temporary)
	}
	return below && strings.Contains(name, "XXX") && !strings.Contains(name, "/") && !shell.HasUnknown(path)
}

// allowing names the setting that lifts a soft rule for one simple command.
func (a *analysis) allowing(argv []string) string {
	text := strings.Join(argv, " ")
	if shell.HasUnknown(text) {
		return "no pattern lifts it while part of the command is only known when it runs"
	}
	if home := a.guard.policy.Exec.Home; home != "" && strings.Contains(text, home) {
		return "no pattern lifts it while it names the commands' own home: that is another directory for each policy, and a pattern is a part of the policy"
	}
	return "add " + strconv.Quote("^"+regexp.QuoteMeta(canonical(argv))+"$") + " to tools.exec.custom_allow_patterns"
}

// fed says why no setting is named for a program that is refused for what it reads: the pattern would allow it whatever it reads.
func fed(argv []string) string {
	return "no pattern is proposed, as it could only allow " + canonical(argv) + " with whatever it is fed; save that to a file and run the file"
}

// soft adds a finding that is no rule of a program's, but that a custom allow pattern lifts all the same.
func (a *analysis) soft(c *shell.Call, verdict Verdict, rule, why, safer string) {
	argv := c.Texts()
	if !a.rules || a.worst != nil && a.worst.verdict >= verdict || a.allowed(argv) {
		return
	}
	f := finding{verdict: verdict, rule: rule, tier: tierSoft, line: reasonDangerous, why: why, span: c.Span, argv: argv, safer: safer, setting: a.allowing(argv)}
	if a.fed == c {
		if f.setting = fed(argv); safer == "" || safer == saferPlain {
			f.safer = saferSaved
		}
	}
	a.add(f)
}

// hard adds a finding that no pattern lifts.
func (a *analysis) hard(c *shell.Call, rule, why string) {
	if a.rules {
		f := finding{verdict: Deny, rule: rule, tier: tierHard, line: reasonDangerous, why: why, span: c.Span, argv: c.Texts(), setting: settingHard}
		if rule == "exec.dynamic" {
			f.safer = saferPlain
		}
		a.add(f)
	}
}
