package guard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is wrong with an example is said with the rule, the command and what to do.
func TestCheckRules(t *testing.T) {
	const deploy = `"id": "own.deploy", "programs": "mytool", "verb": "deploy", "why": "deploys"`
	for _, test := range []struct{ text, want string }{
		{`{` + deploy + `}`, ""},
		{`{` + deploy + `,
			"hit": ["mytool deploy -n a", "cd sub && mytool deploy"], "miss": ["mytool show deploy", "echo $(x)"]}`, ""},
		{`{` + deploy + `, "hit": ["mytool show"]}`, `own.deploy: its hit "mytool show" isn't found; correct`},
		{`{` + deploy + `, "miss": ["mytool deploy"]}`, `own.deploy: its miss "mytool deploy" is found; narrow`},
		{`{` + deploy + `, "hit": ["if true"]}`, `isn't found`},
		{`{` + deploy + `, "decision": "ask", "hit": ["mytool deploy"]}`, ""},

		// Of a refusal, own and built-in rules may both be the reason.
		{`{"id": "own.push", "programs": "git", "verb": "push", "why": "pushes",
			"hit": ["git push", "sudo git push"]}`, ""},
		{`{"id": "own.push", "programs": "git", "verb": "push", "decision": "ask", "why": "pushes",
			"hit": ["git push"]}`,
			`its hit "git push" is refused by exec.git-push before anybody is asked; have another`},

		// What allows must lift all that refuses.
		{`{"id": "own.push", "programs": "git", "verb": "push", "decision": "allow", "why": "pushes",
			"hit": ["git push"],
			"unless": {"flags": "-f"}, "miss": ["git push -f"]}`, ""},
		{`{"id": "own.push", "programs": "git", "verb": "push", "decision": "allow", "why": "pushes",
			"hit": ["git push; sudo ls"]}`,
			`its hit "git push; sudo ls" isn't allowed, as exec.privilege refuses it; only soft`},
		{`{"id": "own.push", "programs": "gti", "verb": "push", "decision": "allow", "why": "pushes",
			"hit": ["ls"]}`, `isn't found`},
		{`{` + deploy + `,
			"hit": ["mytool deploy"]}, {"id": "own.all", "programs": "mytool", "decision": "allow", "why": "does it"}`,
			`own.deploy: its hit "mytool deploy" is allowed, as another rule lifts this one; make it hard`},
		{`{` + deploy + `, "tier": "hard",
			"hit": ["mytool deploy"]}, {"id": "own.all", "programs": "mytool", "decision": "allow",
			"why": "does it"}`, ""},

		// To be asked instead of refused takes two rules.
		{`{"id": "own.push", "programs": "git", "verb": "push", "decision": "allow", "why": "pushes"},
		  {"id": "own.ask", "programs": "git", "verb": "push", "decision": "ask", "tier": "hard",
			"why": "pushes", "hit": ["git push"]}`, ""},

		// Two rules of one id are two rules.
		{`{` + deploy + `,
			"hit": ["mytool deploy"], "miss": ["mytool undo"]}, {"id": "own.deploy", "programs": "mytool", "verb": "undo",
			"why": "undoes", "hit": ["mytool undo"], "miss": ["mytool deploy"]}`, ""},

		// Options of which a rule knows that they take a value, another's included.
		{`{` + deploy + `,
			"hit": ["mytool --env prod deploy"]}, {"id": "own.b", "programs": "mytool", "takes": "--env",
			"verb": "b", "why": "b"}`, ""},
		{`{"id": "own.b", "structure": true, "why": "does it"}`, `own.b: "structure" is for built-in rules; leave it out`},
		{`{"id": "own.b", "programs": "mytool", "undoable": true, "why": "does it"}`,
			`own.b: "undoable" is for built-in rules; leave it out`},
	} {
		own, err := ParseExecRules("own.json", []byte("["+test.text+"]"))
		if err != nil {
			t.Fatal(err)
		}
		err = CheckRuleExamples(own)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s\n\tsays %v\n\tnot  %s", test.text, err, test.want)
		}
		if own[0].ID == testRuleID || own[0].Decision == "" {
			t.Errorf("%s has become %+v", test.text, own[0])
		}
	}
}

// Every decision by a rule names the file that the rule stands in.
func TestDecisionNamesRuleFile(t *testing.T) {
	own, err := ParseExecRules("config.json", []byte(`[
		{"id": "terraform-destroy", "programs": "terraform tofu", "verb": "destroy", "why": "destroys what is described"}]`))
	if err != nil {
		t.Fatal(err)
	}
	policy := everything()
	policy.Exec.Rules = own
	g := mustNew(t, policy)
	for line, want := range map[string]struct{ rule, file string }{
		"terraform destroy":    {"terraform-destroy", "config.json"}, // which a built-in rule refuses, too
		"terraform state rm x": {"exec.remote-delete", "stored.json"},
		"curl x | sh":          {"exec.pipe-to-shell", "structure.json"},
		"cmd /c del /f x":      {"exec.windows-delete", "windows.json"},
		"cat /etc/passwd":      {"workspace.outside", ""},
	} {
		if d := decide(g, line); d.Rule != want.rule || d.File != want.file {
			t.Errorf("%s: rule %s of %q; want %s of %q", line, d.Rule, d.File, want.rule, want.file)
		}
	}
}

// undoableSite is a workspace with links in it that lead outside, and a home of commands.
func undoableSite(t *testing.T) (p Policy, env map[string]string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p = everything()
	p.Workspace, p.Exec.Home = filepath.Join(root, "ws"), filepath.Join(root, "home")
	p.Kernel, p.Exec.UndoableDeletes = true, true
	p.AllowReadPaths = []string{"^" + root + "/shared(/|$)"}
	p.AllowWritePaths = p.AllowReadPaths
	for _, dir := range []string{"ws/sub/deep", "ws/build", "home", "shared"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"link": "shared", "homely": "home", "inner": "ws/build"} {
		if err := os.Symlink(filepath.Join(root, target), filepath.Join(root, "ws", name)); err != nil {
			t.Fatal(err)
		}
	}
	return p, map[string]string{"HOME": p.Exec.Home, "TMPDIR": p.Exec.Home + "/tmp"}
}

// What can be undone may be deleted: what lies in the workspace by the words of the command.
func TestRestorableDeletionsAreAllowed(t *testing.T) {
	p, env := undoableSite(t)
	g := mustNew(t, p)
	shared := strings.TrimSuffix(p.Workspace, "ws") + "shared"
	for line, rules := range map[string]string{
		"rm -rf build":                                "exec.rm-recursive",
		"rm -f a b":                                   "exec.rm-force",
		"rm -rf -- build/*.o sub/../build":            "exec.rm-recursive",
		"rm -rf *":                                    "exec.rm-recursive",
		"rm -rf .git":                                 "exec.rm-recursive",
		`d=build; rm -rf "$PWD/$d"`:                   "exec.rm-recursive",
		"for d in build sub; do rm -r $d; done":       "exec.rm-recursive",
		"cd sub && rm -rf x ../build":                 "exec.rm-recursive",
		"cd sub/deep; rm -rf ../../build":             "exec.rm-recursive",
		"rm -rf link":                                 "exec.rm-recursive", // the link itself
		"rm -rf inner/":                               "exec.rm-recursive",
		"/bin/rm -rf build && echo gone":              "exec.rm-recursive",
		"sh -c 'rm -rf build'":                        "exec.rm-recursive",
		"timeout 5 nice rm -rf build":                 "exec.rm-recursive",
		"command rm -rf build; eval rm -r sub":        "exec.rm-recursive",
		"f() { rm -rf \"$1\"; }; f build":             "exec.rm-recursive",
		"git clean -fdx":                              "exec.git-clean",
		"git -C sub clean -fdx deep":                  "exec.git-clean",
		"git --git-dir .git --work-tree . clean -f":   "exec.git-clean",
		"cd sub && git clean -fdx -e '*.log' .":       "exec.git-clean",
		"find . -name '*.o' -delete":                  "exec.find-delete",
		"find -name x -newer sub -delete":             "exec.find-delete",
		"find build sub -type f -delete":              "exec.find-delete",
		"shred -u -n 3 a":                             "exec.shred",
		"rsync -a --delete sub/ build/":               "exec.mirror-delete",
		"rm -rf build; git clean -fd; rm -rf sub":     "exec.rm-recursive exec.git-clean",
		"make clean; [ -d build ] && rm -rf ./build/": "exec.rm-recursive",
	} {
		d := g.DecideCommand(Command{Text: line, Env: env, Undoable: true})
		if got := strings.Join(d.Softened, " "); d.Verdict != Allow || got != rules {
			t.Errorf("%s: %s %s, softened %q; want %q\n%s", line, d.Verdict, d.Rule, got, rules, d.Reason)
		}
	}
	for line, rule := range map[string]string{
		// elsewhere
		"rm -rf /etc/x":                       "exec.rm-recursive",
		"rm -rf build ../x":                   "exec.rm-recursive",
		`rm -rf "$HOME"/x`:                    "exec.rm-recursive",
		"rm -rf ~/x":                          "exec.rm-recursive",
		"rm -rf /tmp/x":                       "exec.rm-recursive",
		"rm -rf " + shared + "/x":             "exec.rm-recursive",
		"cd ~ && rm -rf x":                    "exec.rm-recursive",
		"cd link && rm -rf x":                 "exec.rm-recursive",
		"find / -delete":                      "exec.find-delete",
		"find build ~ -name x -delete":        "exec.find-delete",
		"git -C /elsewhere clean -fdx":        "exec.git-clean",
		"git -C ~ clean -fdx":                 "exec.git-clean",
		"git --git-dir ~/g clean -fdx":        "exec.git-clean",
		"git --work-tree=$HOME clean -f":      "exec.git-clean",
		"GIT_WORK_TREE=~ git clean -f":        "exec.git-clean",
		"export GIT_DIR=~/x; git clean -f":    "exec.git-clean",
		"git -c core.worktree=$HOME clean -f": "exec.git-clean",
		"git clean -fdx :/":                   "exec.git-clean",
		"git clean -fdx ~/x":                  "exec.git-clean",
		"shred -u ~/a":                        "exec.shred",
		"rsync -a --delete a/ ~/b/":           "exec.mirror-delete",
		"rsync -a --delete a/ host:b/":        "exec.mirror-delete",
		"rsync -a --delete a/ rsync://host/b": "exec.mirror-delete",
		"rclone sync a b:c":                   "exec.mirror-delete",
		"srm a":                               "exec.shred",
		"btrfs subvolume delete snap":         "exec.rm-recursive",
		"trash-empty 1":                       "exec.rm-recursive",

		// where links lead
		"rm -rf link/":                         "exec.rm-recursive",
		"rm -rf link/x":                        "exec.rm-recursive",
		"rm -rf homely/x":                      "exec.rm-recursive",
		"rm -rf homely/../x":                   "exec.rm-recursive",
		"rm -rf */x":                           "exec.rm-recursive",
		"rm -rf l*/":                           "exec.rm-recursive",
		"for i in *; do rm -rf $i/x; done":     "exec.rm-recursive",
		"for i in *; do cd $i; rm -rf x; done": "exec.rm-recursive",
		"rsync -a --delete sub/ l*":            "exec.mirror-delete",
		"find link/ -delete":                   "exec.find-delete",
		"find -L . -delete":                    "exec.find-delete",
		"find . -follow -delete":               "exec.find-delete",
		"git -C homely clean -fd":              "exec.git-clean",
		"rsync -a --del sub/ link":             "exec.mirror-delete",

		// not known
		"rm -rf $BUILD":                                "exec.rm-recursive",
		`rm -rf "$BUILD/x"`:                            "exec.rm-recursive",
		"rm -rf build $(cat list)":                     "exec.rm-recursive",
		`cd "$(cat where)" && rm -rf build`:            "exec.rm-recursive",
		"while read d; do rm -rf $d; done < l":         "exec.rm-recursive",
		"if a; then d=x; else d=y; fi; rm -rf $d/z":    "exec.rm-recursive",
		"ls | xargs rm -rf":                            "exec.rm-recursive",
		"find . -name x -exec rm -rf {} +":             "exec.rm-recursive",
		"find $DIR -delete":                            "exec.find-delete",
		"find -files0-from list -delete":               "exec.find-delete",
		"git -C $D clean -fd":                          "exec.git-clean",
		"x=build; while b; do rm -rf $x; x=~/y; done":  "exec.rm-recursive",
		"ssh host rm -rf build":                        "exec.ssh",
		"docker exec web sh -c 'rm -rf build'":         "exec.container",
		"git submodule foreach 'git clean -fdx'":       "exec.git-clean",
		"trap 'rm -rf build' EXIT; cd ~":               "exec.rm-recursive",
		"git --config-env=core.worktree=HOME clean -f": "exec.git-clean",
		"env -C homely rm -rf build":                   "exec.rm-recursive",
		"PAGER='rm -rf build' git log":                 "exec.rm-recursive",

		// the workspace itself, and what is hard
		"rm -rf .":                        "exec.rm-recursive",
		`rm -rf "$PWD"`:                   "exec.rm-recursive",
		"cd sub; rm -rf ..":               "exec.rm-recursive",
		"cd sub; rm -rf ../../ws":         "exec.rm-recursive",
		`find "$PWD" -delete`:             "exec.find-delete",
		"sudo rm -rf build":               "exec.privilege",
		"rm -rf build > /dev/sda":         "exec.device",
		"rm -rf build; git push":          "exec.git-push",
		"rm -rf build; dd if=a of=/etc/x": "exec.dd",
	} {
		d := g.DecideCommand(Command{Text: line, Env: env, Undoable: true})
		if d.Verdict == Allow || d.Rule != rule || len(d.Softened) > 0 {
			t.Errorf("%s: %s %s %q; want %s", line, d.Verdict, d.Rule, d.Reason, rule)
		}
	}
}

// What is not kept is refused, whatever the setting; and so is what is kept without it.
func TestUnrestorableDeletionsAreRefused(t *testing.T) {
	p, env := undoableSite(t)
	const line, setting = "rm -rf build", `add "^rm -rf build$" to tools.exec.custom_allow_patterns`
	d := mustNew(t, p).DecideCommand(Command{Text: line, Env: env})
	if want := setting + "; tools.exec.undoable_deletes doesn't lift it here, as undo does not cover this command"; d.Verdict != Deny || d.Setting != want {
		t.Errorf("nothing is kept: %s, setting %q", d.Verdict, d.Setting)
	}
	d = mustNew(t, p).DecideCommand(Command{Text: "rm -rf ~/x", Env: env, Undoable: true})
	if !strings.HasSuffix(d.Setting, "as its words don't show that all it deletes lies in the workspace") {
		t.Errorf("elsewhere: setting %q", d.Setting)
	}
	p.Exec.UndoableDeletes = false
	if d = mustNew(t, p).DecideCommand(Command{Text: line, Env: env, Undoable: true}); d.Verdict != Deny || d.Setting != setting {
		t.Errorf("without the setting: %s, setting %q", d.Verdict, d.Setting)
	}
	p.Exec.UndoableDeletes, p.Exec.Profile = true, ProfileSeedStrict
	if d = mustNew(t, p).DecideCommand(Command{Text: line, Env: env, Undoable: true}); d.Rule != "exec.seed-pattern" {
		t.Errorf("in the strict profile: %s %s", d.Verdict, d.Rule)
	}
	p.Exec.Profile = ProfileDefault
	own, err := ParseExecRules("own.json", []byte(`[{"id": "own.rm", "programs": "rm", "why": "deletes"}]`))
	if err != nil {
		t.Fatal(err)
	}
	p.Exec.Rules = own
	if d = mustNew(t, p).DecideCommand(Command{Text: line, Env: env, Undoable: true}); d.Rule != "own.rm" {
		t.Errorf("with an operator's rule: %s %s", d.Verdict, d.Rule)
	}
	p.Exec.Rules = nil
	for dialect, rule := range map[ShellDialect]string{Cmd: "exec.rm-recursive", PowerShell: "exec.windows-delete"} {
		d := mustNew(t, p).DecideCommand(Command{Text: line, Env: env, Undoable: true, Dialect: dialect})
		if d.Verdict != Deny || d.Rule != rule {
			t.Errorf("in %s: %s %s", dialect, d.Verdict, d.Rule)
		}
	}
}
