package guard

import "testing"

// What a call adds to a command's environment is decided on as the same assignments in front of the command are.
func TestEnvironmentVariablesAreChecked(t *testing.T) {
	g := mustNew(t, everything())
	for name, c := range map[string]struct {
		line string
		env  map[string]string
		rule string
	}{
		"harmless": {"ls", map[string]string{"CI": "1", "GIT_PAGER": "cat", "GOFLAGS": "-mod=mod",
			"PATH": "/usr/bin:/bin"}, ""},
		"a function in place of ls":  {"ls", map[string]string{"BASH_FUNC_ls%%": "() { rm -rf x; }"}, "exec.environment"},
		"a file of the shell's":      {"ls", map[string]string{"BASH_ENV": "./x"}, "exec.environment"},
		"a library":                  {"ls", map[string]string{"LD_PRELOAD": "./x.so"}, "exec.environment"},
		"a prompt that is a command": {"ls", map[string]string{"PS4": "$(touch x)"}, "exec.environment"},
		"a pager that deletes":       {"git log", map[string]string{"GIT_PAGER": "rm -rf x"}, "exec.rm-recursive"},
		"a setting of git's": {"git log", map[string]string{"GIT_CONFIG_COUNT": "1",
			"GIT_CONFIG_KEY_0": "core.pager", "GIT_CONFIG_VALUE_0": "rm -rf x"}, "exec.rm-recursive"},
		"programs from elsewhere":     {"ls", map[string]string{"PATH": "/tmp/bin:/usr/bin"}, ruleOutside},
		"a repository elsewhere":      {"git log", map[string]string{"GIT_DIR": "/srv/repo/.git"}, ruleOutside},
		"another name behind a =":     {"ls", map[string]string{"LD_PRELOAD=./x.so": ""}, "exec.malformed"},
		"no name":                     {"ls", map[string]string{"": "x"}, "exec.malformed"},
		"two variables in one":        {"ls", map[string]string{"A": "b\x00LD_PRELOAD=./x.so"}, "exec.malformed"},
		"nothing is run, and it acts": {"", map[string]string{"BASH_ENV": "./x"}, "exec.environment"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, dialect := range []ShellDialect{Bash, POSIX} {
				d := g.DecideCommand(Command{Text: c.line, Env: c.env, Dialect: dialect})
				if d.Rule != c.rule && (c.rule != "" || d.Verdict != Allow) {
					t.Errorf("%s: %s %s %q; want rule %q", dialect, d.Verdict, d.Rule, d.Reason, c.rule)
				}
			}
		})
	}
}

// A name that is another one in the program's eyes is refused whatever the rules are: nothing could be decided on it.
func TestMalformedEnvironmentWithoutRules(t *testing.T) {
	g := mustNew(t, Policy{Workspace: "/home/user/ws", Restrict: true})
	if d := g.DecideCommand(Command{Text: "ls", Env: map[string]string{"GIT_DIR=/etc": ""}}); d.Rule != "exec.malformed" {
		t.Errorf("%s %s", d.Verdict, d.Rule)
	}
}
