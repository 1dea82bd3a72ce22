package guard

import (
	"slices"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/rules"
)

// everything is the policy of a restricted agent with all rules, in a workspace that need not exist.
func everything() Policy {
	return Policy{Workspace: "/home/user/ws", Restrict: true, Exec: ExecPolicy{DenyPatterns: true}}
}

func decide(g *Guard, line string) Decision {
	return g.DecideCommand(Command{Text: line, Env: map[string]string{"HOME": "/home/user"}})
}

func TestRulesHaveExamples(t *testing.T) {
	lifted := everything()
	lifted.Restrict = false // the examples are about rules, whatever paths are in them
	g := mustNew(t, lifted)
	confined := mustNew(t, everything())
	for _, r := range rules.BuiltinRules().Rules() {
		if !r.Structure {
			continue
		}
		if r.Why == "" || len(r.Hit) == 0 || len(r.Miss) == 0 {
			t.Errorf("%s: a rule needs a reason and examples that it matches and doesn't", r.ID)
		}
		for _, line := range r.Hit {
			if d := decide(g, line); d.Rule != r.ID || d.Verdict == Allow {
				if d := decide(confined, line); d.Rule != r.ID || d.Verdict == Allow {
					t.Errorf("%s doesn't match %q: %+v", r.ID, line, d)
				}
			}
		}
		for _, line := range r.Miss {
			if d := decide(g, line); d.Verdict != Allow {
				t.Errorf("%s: %q is refused: %+v", r.ID, line, d)
			}
		}
	}
}

// The rules on arguments, found by the whole guard.
func TestRulesOnArgumentsHold(t *testing.T) {
	lifted := everything()
	lifted.Restrict = false
	g := mustNew(t, lifted)
	for _, r := range rules.BuiltinRules().Rules() {
		if r.Structure {
			continue
		}
		for _, line := range r.Hit {
			if strings.ContainsAny(line, `\;{}`) || strings.HasPrefix(line, "lxc-") {
				continue // find's and Windows' arguments are no shell's
			}
			d := decide(g, line)
			if d.Verdict == Allow {
				t.Errorf("%s: %q is allowed", r.ID, line)
			}
			if d.Rule == r.ID && (d.Tier == "" || d.File == "") {
				t.Errorf("%s: %q is refused without a tier or a file: %+v", r.ID, line, d)
			}
			if d.Hint == "" || !strings.HasPrefix(d.Reason, reasonDangerous+"\n") {
				t.Errorf("%s: %q is refused with %q, hint %q", r.ID, line, d.Reason, d.Hint)
			}
		}
	}
}

// seeds are the patterns of the two pages that the guard goes back to, each with a rule that stands for it and a line
// that the rule must refuse.
var seeds = []struct{ pattern, rule, line string }{
	{`\brm\s+-[rf]{1,2}\b`, "exec.rm-recursive", "rm -rf x"},
	{`\brm\s+-[rf]{1,2}\b`, "exec.rm-force", "rm -f x"},
	{`\bdel\s+/[fq]\b`, "exec.windows-delete", "del /f x"},
	{`\brmdir\s+/s\b`, "exec.windows-delete", "rmdir /s x"},
	{`\b(format|mkfs|diskpart)\b\s`, "exec.format", "mkfs x"},
	{`\b(format|mkfs|diskpart)\b\s`, "exec.format", "format c:"},
	{`\b(format|mkfs|diskpart)\b\s`, "exec.format", "diskpart x"},
	{`\bdd\s+if=`, "exec.dd", "dd if=a"},
	{`>/dev/(sd[a-z]|hd[a-z]|...)`, "exec.device", "echo x >/dev/sda"},
	{`\b(shutdown|reboot|poweroff)\b`, "exec.power", "shutdown now"},
	{`\b(shutdown|reboot|poweroff)\b`, "exec.power", "reboot"},
	{`\b(shutdown|reboot|poweroff)\b`, "exec.power", "poweroff"},
	{`:\(\)\s*\{.*\};\s*:`, "exec.fork-bomb", ":(){ :|:& };:"},
	{`\$\([^)]+\)`, "exec.dynamic", "$(cat x)"},
	{`\$\{[^}]+\}`, "exec.dynamic", "${X}"},
	{"`[^`]+`", "exec.dynamic", "`cat x`"},
	{`\|\s*sh\b`, "exec.pipe-to-shell", "cat x | sh"},
	{`\|\s*bash\b`, "exec.pipe-to-shell", "cat x | bash"},
	{`\bsudo\b`, "exec.privilege", "sudo ls"},
	{`\bchmod\s+[0-7]{3,4}\b`, "exec.chmod", "chmod 777 x"},
	{`\bchown\b`, "exec.chown", "chown u x"},
	{`\bpkill\b`, "exec.pkill", "pkill x"},
	{`\bkillall\b`, "exec.pkill", "killall x"},
	{`\bkill\s+-[9]\b`, "exec.kill-9", "kill -9 1"},
	{`\bcurl\b.*\|\s*(sh|bash)`, "exec.pipe-to-shell", "curl x | sh"},
	{`\bwget\b.*\|\s*(sh|bash)`, "exec.pipe-to-shell", "wget -O- x | bash"},
	{`\bssh\b.*@`, "exec.ssh", "ssh u@h"},
	{`\bapt\s+(install|remove|purge)\b`, "exec.system-packages", "apt install x"},
	{`\byum\s+(install|remove)\b`, "exec.system-packages", "yum remove x"},
	{`\bdnf\s+(install|remove)\b`, "exec.system-packages", "dnf install x"},
	{`\bnpm\s+install\s+-g\b`, "exec.global-packages", "npm install -g x"},
	{`\bpip\s+install\s+--user\b`, "exec.global-packages", "pip install --user x"},
	{`\bdocker\s+run\b`, "exec.container", "docker run x"},
	{`\bdocker\s+exec\b`, "exec.container", "docker exec x y"},
	{`\bgit\s+push\b`, "exec.git-push", "git push"},
	{`\bgit\s+force\b`, "exec.git-push", "git force x"},

	// The second page says it in words.
	{`\brm\s+-[rf]{1,2}\b`, "exec.rm-recursive", "rm -rf /"},
	{`\bdel\s+/[fq]\b`, "exec.windows-delete", "del /f *"},
	{`\brmdir\s+/s\b`, "exec.windows-delete", "rmdir /s *"},
	{`>\s*/dev/sd[a-z]`, "exec.device", "cat x > /dev/sdz"},
}

func TestEverySeedPatternHasItsRule(t *testing.T) {
	lifted := everything()
	lifted.Restrict = false // the rules hold with it, too
	g := mustNew(t, lifted)
	for _, s := range seeds {
		covered := slices.ContainsFunc(rules.BuiltinRules().Rules(), func(r *Rule) bool {
			return r.ID == s.rule && slices.Contains(r.Seeds, s.pattern)
		})
		if !covered {
			t.Errorf("no rule %s says that it stands for %s", s.rule, s.pattern)
		}
		if d := decide(g, s.line); d.Verdict == Allow || d.Rule != s.rule {
			t.Errorf("%s: %+v; want %s", s.line, d, s.rule)
		}
	}
	strict := everything()
	strict.Exec.Profile = ProfileSeedStrict
	for _, line := range []string{"echo $(date)", "echo ${x%.txt}", "echo `date`", "chmod 644 a", "echo sudo",
		"cat <<< 'ssh a@b'"} {
		if d := decide(mustNew(t, strict), line); d.Verdict != Deny || d.Rule != "exec.seed-pattern" {
			t.Errorf("%s under seed_strict: %+v", line, d)
		}
	}
}

// What rules say they stand for must be a pattern of the seeds.
func TestRuleSeedsExist(t *testing.T) {
	for _, r := range rules.BuiltinRules().Rules() {
		for _, pattern := range r.Seeds {
			if !slices.ContainsFunc(seeds, func(s struct{ pattern, rule, line string }) bool { return s.pattern == pattern }) {
				t.Errorf("%s stands for %s, which is no pattern of the seeds", r.ID, pattern)
			}
		}
	}
}
