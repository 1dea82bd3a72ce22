package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/internal/protect"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

func defaults(p *guard.Policy) {
	p.WorkspaceDeny, p.WorkspaceAsk = protect.Defaults().Deny, protect.Defaults().Ask
}

func (g *ground) all(names ...string) {
	for _, name := range names {
		g.deep(name)
	}
}

// Tools refuse changes of the entry points in a subtree, and content that git would act on.
func TestToolsKeepEntryPoints(t *testing.T) {
	for name, do := range map[string]func(*ground) error{
		"mv onto .github":           func(g *ground) error { return g.MoveTree("gh", ".github", TransferOptions{Overwrite: true}) },
		"mv to .github":             func(g *ground) error { return g.MoveTree("gh", "sub/.github", TransferOptions{}) },
		"mv of others over .github": func(g *ground) error { return g.MoveTree("vs", ".github", TransferOptions{Overwrite: true}) },
		"cp of others over .github": func(g *ground) error { return g.CopyTree("vs", ".github", TransferOptions{Overwrite: true}) },
		"cp to .github":             func(g *ground) error { return g.CopyTree("gh", "sub/.github", TransferOptions{}) },
		"mv of modules":             func(g *ground) error { return g.MoveTree("m", ".git/modules", TransferOptions{}) },
		"cp of modules":             func(g *ground) error { return g.CopyTree("m", ".git/modules", TransferOptions{}) },
		"a bare repository":         func(g *ground) error { return g.WriteFile("m/lib/HEAD", []byte("x")) },
		"its refs":                  func(g *ground) error { _, err := g.MakeDir("half/refs/heads", 0o755); return err },
		"a hook":                    func(g *ground) error { return g.WriteFile("bare/hooks/update", []byte("x")) },
		"a risky setting":           func(g *ground) error { return g.WriteFile(".git/config", []byte("[core]\npager = x\n")) },
		"a risky file":              func(g *ground) error { return g.CopyTree("risky", ".git/config", TransferOptions{Overwrite: true}) },
		"a risky move":              func(g *ground) error { return g.MoveTree("risky", "bare/config", TransferOptions{}) },
		"a gitdir line":             func(g *ground) error { return g.WriteFile("new/.git", []byte("gitdir: ../m/lib")) },
		"mv of .envrc's place":      func(g *ground) error { return g.MoveTree("sub", "other", TransferOptions{}) },
	} {
		g := newGround(t, defaults)
		g.all(".github/workflows/ci.yml", "gh/workflows/ci.yml", ".git/HEAD", "sub/.git/HEAD", "sub/.envrc", "m/lib/objects/x", "m/lib/refs/x",
			"m/lib/hooks/post-commit", "half/HEAD", "half/objects/x", "half/evil", "bare/HEAD", "bare/objects/x", "bare/refs/x", "vs/.vscode/x")
		g.put(filepath.Join(g.w, "risky"), "[alias]\nx = !y\n")
		g.put(filepath.Join(g.w, ".git/config"), "[core]\nbare = false\n")
		if name == "mv of modules" || name == "cp of modules" {
			g.deep("m/lib/HEAD")
		}
		before := tar(t, g.w)
		err := do(g)
		if refusal := FindRefusal(err); refusal == nil || refusal.Rule != guard.RuleProtect || refusal.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
		if after := tar(t, g.w); after != before {
			t.Errorf("%s changed\n%s\nto\n%s", name, before, after)
		}
	}
	g := newGround(t, defaults)
	g.all(".git/HEAD", "m/lib/objects/x", "m/lib/refs/x", "m/lib/HEAD")
	if err := g.WriteFile(".git/config", []byte("[user]\nname = x\n")); err != nil {
		t.Error(err)
	}
	if err := g.MoveTree("m", ".git/modules", TransferOptions{}); err != nil {
		t.Error(err)
	}
	if err := g.RemoveTree(t.Context(), ".git/modules/lib", true, nil); err != nil {
		t.Error(err)
	}
}

// tar lists a tree with its contents.
func tar(t *testing.T, dir string) string {
	var b strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		b.WriteString(path + " " + info.Mode().String())
		if err == nil && info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			b.WriteString(" " + string(data))
			return err
		}
		b.WriteByte('\n')
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A git directory outside the workspace that the policy opens is protected too.
func TestOutsideGitDirectoryIsProtected(t *testing.T) {
	main := t.TempDir()
	g := newGround(t, defaults, func(p *guard.Policy) { p.AllowWritePaths = []string{"^" + main} })
	for _, name := range []string{"HEAD", "objects/x", "hooks/a.sample"} {
		path := filepath.Join(main, ".git", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		g.put(path, "x")
	}
	if FindRefusal(g.WriteFile(filepath.Join(main, ".git/hooks/post-commit"), []byte("x"))) == nil {
		t.Error("a hook was written")
	}
	if err := g.WriteFile(filepath.Join(main, ".git/COMMIT_EDITMSG"), []byte("x")); err != nil {
		t.Error(err)
	}
	if err := g.WriteFile(filepath.Join(main, ".vscode/tasks.json"), []byte("x")); err != nil {
		t.Error("a file outside that is no git directory's:", err)
	}
	monitor := g.NewChangeMonitor(EnforcerOptions{})
	if monitor.BeforeChange(mutation.FileMutation{Kind: mutation.Write, Path: filepath.Join(main, ".git/hooks/post-commit")}) == nil {
		t.Error("a command may write a hook")
	}
}

// monitored makes a change as a command would, if the monitor lets it.
func monitored(m *ProtectionEnforcer, c mutation.FileMutation, do func() error) error {
	if err := m.BeforeChange(c); err != nil {
		return err
	}
	return do()
}

func TestMonitorJudgesSettledContent(t *testing.T) {
	g := newGround(t, defaults)
	g.all(".git/HEAD", ".git/objects/x")
	config, lock := filepath.Join(g.w, ".git/config"), filepath.Join(g.w, ".git/config.lock")
	move := mutation.FileMutation{Kind: mutation.Rename, Path: lock, To: config}
	try := func(text string, prepare func()) error {
		g.put(lock, text)
		prepare()
		return g.NewChangeMonitor(EnforcerOptions{}).BeforeChange(move)
	}
	if err := try("[core]\nbare = false\n", func() {}); err != nil {
		t.Error("harmless:", err)
	}
	if try("[core]\npager = x\n", func() {}) == nil {
		t.Error("a risky setting passes")
	}
	writer, err := os.OpenFile(lock, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if try("[core]\nbare = false\n", func() {}) == nil {
		t.Error("a file that is open for writing passes")
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if try("[core]\nbare = false\n", func() { _ = os.Link(lock, filepath.Join(g.w, "alias")) }) == nil {
		t.Error("a file with another name passes")
	}
}

// A command writes its own lock files of git again, and not those of the user's git.
func TestMonitorKeepsLocksOfOthers(t *testing.T) {
	g := newGround(t, defaults)
	g.all(".git/HEAD", ".git/objects/x")
	lock, next := filepath.Join(g.w, ".git/index.lock"), filepath.Join(g.w, ".git/index.lock.lock")
	monitor := g.NewChangeMonitor(EnforcerOptions{})
	write := func(path string) error {
		return monitored(monitor, mutation.FileMutation{Kind: mutation.Write, Path: path}, func() error { return os.WriteFile(path, nil, 0o600) })
	}
	move := func() error { return os.Rename(next, lock) }
	g.put(lock, "the user's")
	if write(lock) == nil {
		t.Error("the user's lock is written")
	}
	if err := errors.Join(os.Remove(lock), write(lock), write(lock), write(next),
		monitored(monitor, mutation.FileMutation{Kind: mutation.Rename, Path: next, To: lock}, move), write(lock)); err != nil {
		t.Error(err)
	}
	monitor.births[lock] = time.Now().Add(-time.Minute) // the user's git has created the file since
	if write(lock) == nil {
		t.Error("another lock at the path is written")
	}
}

// A command writes the state of its own rebase in place, and not that of the user's, who may continue it at any time.
func TestMonitorKeepsRebaseOfOthers(t *testing.T) {
	g := newGround(t, defaults)
	g.all(".git/HEAD", ".git/objects/x", ".git/rebase-merge/git-rebase-todo", ".git/rebase-merge/msgnum")
	monitor := g.NewChangeMonitor(EnforcerOptions{})
	write := func(name, text string) error {
		path := filepath.Join(g.w, ".git", name)
		return monitored(monitor, mutation.FileMutation{Kind: mutation.Write, Path: path}, func() error { return os.WriteFile(path, []byte(text), 0o600) })
	}
	for _, name := range []string{"git-rebase-todo", "strategy"} {
		if write("rebase-merge/"+name, "x") == nil {
			t.Errorf("%s of the user's rebase is written in place", name)
		}
	}
	own := filepath.Join(g.w, ".git", "sequencer")
	for _, dir := range []string{own, filepath.Join(g.w, ".git", "rebase-apply")} {
		if err := monitored(monitor, mutation.FileMutation{Kind: mutation.Make, Path: dir, Dir: true}, func() error { return os.Mkdir(dir, 0o700) }); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"rebase-merge/msgnum", "sequencer/todo", "sequencer/todo", "rebase-apply/apply-opt"} {
		if err := write(name, "1\n"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := write("sequencer/todo", "pick 1\nexec evil\n"); err != nil {
		t.Fatal(err)
	}
	monitor.RestoreHarmfulFiles()
	if text, _ := os.ReadFile(filepath.Join(own, "todo")); strings.Contains(string(text), "evil") {
		t.Errorf("the command's rebase has %q", text)
	}
	monitor.births[own] = time.Now().Add(-time.Minute) // the user's git has created the directory since
	if write("sequencer/todo", "pick 1\n") == nil {
		t.Error("the state of another operation at the path is written in place")
	}
}

// If the kernel reports no changes, protected files are put back at the end. Otherwise their changes are the user's.
func TestMonitorPutsFilesBack(t *testing.T) {
	const text, edited = "[core]\n\tbare = false\n", "[core]\n\tfsmonitor = evil\n"
	for name, c := range map[string]struct {
		options EnforcerOptions
		blind   bool
		found   int
		aside   int
		config  string
	}{
		"blind":            {EnforcerOptions{}, true, 1, 3, text},
		"blind_background": {EnforcerOptions{Background: true}, true, 4, 0, edited},
		"seeing":           {EnforcerOptions{}, false, 4, 0, edited},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGround(t, defaults)
			g.all(".git/HEAD", ".git/objects/x")
			config := filepath.Join(g.w, ".git/config")
			g.put(config, text)
			monitor := g.NewChangeMonitor(c.options)
			if c.blind {
				_ = monitor.BeforeChange(mutation.FileMutation{Err: errors.New("this machine does not tell of changes")})
			}
			g.put(config, edited)
			g.put(filepath.Join(g.w, ".envrc"), "evil")
			g.deep(".git/hooks/post-commit")
			g.deep(".github/workflows/ci.yml")
			ended := monitor.FinishMonitor()
			_, err := os.Lstat(filepath.Join(g.w, ".envrc"))
			if got := g.contents(config); got != c.config || (err == nil) != (c.aside == 0) || len(ended.Aside) != c.aside || len(ended.Found) != c.found {
				t.Errorf("config is %q, .envrc %v: %+v", got, err, ended)
			}
		})
	}
}

// A file that is planted while its directory moves is found at the end.
func TestMonitorSearchesMovedDirectoriesAgain(t *testing.T) {
	g := newGround(t, defaults)
	g.all("n/objects/x", "n/refs/x", "n/HEAD", "sub/.git/HEAD", "gh/f")
	monitor := g.NewChangeMonitor(EnforcerOptions{})
	for from, to := range map[string]string{"n": "m", "gh": "sub/.github"} {
		from, to = filepath.Join(g.w, from), filepath.Join(g.w, to)
		err := monitored(monitor, mutation.FileMutation{Kind: mutation.Rename, Path: from, To: to}, func() error { return os.Rename(from, to) })
		if err != nil {
			t.Fatal(err)
		}
	}
	g.all("m/hooks/update", "sub/.github/workflows/ci.yml")
	if ended := monitor.FinishMonitor(); len(ended.Aside) != 2 {
		t.Errorf("%+v", ended)
	}
}

// A failed call creates nothing, and a repository that the user creates below the command's directory is the user's.
func TestMonitorNotesOnlySuccessfulChanges(t *testing.T) {
	g := newGround(t, defaults)
	g.all("mine/.git/HEAD", "made/mine/.git/HEAD", "made/other/.git/HEAD")
	path := func(name string) string { return filepath.Join(g.w, name) }
	monitor := g.NewChangeMonitor(EnforcerOptions{Background: true})
	failed := mutation.FileMutation{Kind: mutation.Failed}
	for _, dir := range []string{"mine", "made", "made/other", "made/other/.git"} {
		if err := os.RemoveAll(path(dir)); err != nil {
			t.Fatal(err)
		}
		if err := monitor.BeforeChange(mutation.FileMutation{Kind: mutation.Make, Path: path(dir), Dir: true}); err != nil {
			t.Fatal(err)
		}
		if dir == "mine" {
			_ = monitor.BeforeChange(failed)
		}
		g.all(dir + "/x")
	}
	g.all("mine/.git/HEAD", "made/mine/.git/HEAD")
	for name, allowed := range map[string]bool{"mine/.envrc": false, "made/mine/.envrc": false, "made/other/.envrc": true} {
		err := monitor.BeforeChange(mutation.FileMutation{Kind: mutation.Write, Path: path(name)})
		if (err == nil) != allowed {
			t.Errorf("%s: %v", name, err)
		}
	}
	_ = monitor.BeforeChange(mutation.FileMutation{Kind: mutation.Write, Path: path(".gitmodules")})
	_ = monitor.BeforeChange(failed)
	if err := os.WriteFile(path(".gitmodules"), []byte("[submodule \"x\"]\n\tupdate = !true\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	monitor.FinishMonitor()
	if _, err := os.Stat(path(".gitmodules")); err != nil {
		t.Error("the user's file is deleted: ", err)
	}
}

func TestMonitorCoversNamedPathsOnly(t *testing.T) {
	g := newGround(t, defaults)
	g.all(".git/HEAD", ".vscode/tasks.json", ".idea/x")
	monitor := g.NewChangeMonitor(EnforcerOptions{Approved: true, Paths: []string{".vscode", ".git/config", ".envrc"}})
	for path, allowed := range map[string]bool{".vscode/tasks.json": true, ".git/config": true, ".idea/x": false, ".envrc": false, ".git/hooks/x": false} {
		err := monitor.BeforeChange(mutation.FileMutation{Kind: mutation.Write, Path: filepath.Join(g.w, path)})
		if (err == nil) != allowed {
			t.Errorf("%s: %v", path, err)
		}
	}
	if len(monitor.FinishMonitor().Reasons) != 3 {
		t.Errorf("%+v", monitor.FinishMonitor())
	}
}

// An approval covers changes of protected files, not second paths by which later commands could change them unasked.
func TestApprovalCoversNoSecondPath(t *testing.T) {
	for _, options := range []EnforcerOptions{{Approved: true}, {Approved: true, Paths: []string{".vscode", ".github/workflows", ".gitmodules"}}} {
		g := newGround(t, defaults)
		g.all(".git/HEAD", ".vscode/tasks.json", ".github/workflows/ci.yml", "plain", "twice", "tree/a", "links/b")
		path := func(name string) string { return filepath.Join(g.w, name) }
		err := errors.Join(os.Link(path("twice"), path("again")), os.Symlink("plain", path("symlink")), os.Symlink("../plain", path("links/c")))
		if err != nil {
			t.Fatal(err)
		}
		monitor := g.NewChangeMonitor(options)
		for name, c := range map[string]struct {
			m       mutation.FileMutation
			allowed bool
		}{
			"link to it":             {mutation.FileMutation{Kind: mutation.Link, Path: path(".github/workflows/ci.yml"), To: path("notes")}, false},
			"link at it":             {mutation.FileMutation{Kind: mutation.Link, Path: path("plain"), To: path(".github/workflows/new.yml")}, false},
			"symlink in it":          {mutation.FileMutation{Kind: mutation.Make, Path: path(".vscode/settings.json")}, false},
			"symlink renamed":        {mutation.FileMutation{Kind: mutation.Rename, Path: path("symlink"), To: path(".vscode/settings.json")}, false},
			"file with two names":    {mutation.FileMutation{Kind: mutation.Rename, Path: path("twice"), To: path(".gitmodules")}, false},
			"directory with symlink": {mutation.FileMutation{Kind: mutation.Rename, Path: path("links"), To: path(".vscode/links")}, false},
			"exchange":               {mutation.FileMutation{Kind: mutation.Exchange, Path: path("twice"), To: path(".github/workflows/ci.yml")}, false},
			"file":                   {mutation.FileMutation{Kind: mutation.Rename, Path: path("plain"), To: path(".github/workflows/ci.yml")}, true},
			"directory":              {mutation.FileMutation{Kind: mutation.Rename, Path: path("tree"), To: path(".vscode/tree")}, true},
			"write":                  {mutation.FileMutation{Kind: mutation.Write, Path: path(".vscode/tasks.json")}, true},
			"new directory":          {mutation.FileMutation{Kind: mutation.Make, Dir: true, Path: path(".vscode/d")}, true},
		} {
			if err := monitor.BeforeChange(c.m); (err == nil) != c.allowed {
				t.Errorf("%s: %v; want allowed %v", name, err, c.allowed)
			}
			_ = monitor.BeforeChange(mutation.FileMutation{Kind: mutation.Failed})
		}
		monitor.FinishMonitor()
	}
}

func TestMonitorRefusesUninspectable(t *testing.T) {
	g := newGround(t, defaults)
	g.deep("closed/x/y")
	long := filepath.Join(g.w, strings.Repeat("x/", 2040))
	for name, m := range map[string]mutation.FileMutation{
		"a long path":     {Kind: mutation.Write, Path: long},
		"an unseen one":   {Err: unix.ENAMETOOLONG},
		"a missing place": {Kind: mutation.Rename, Path: filepath.Join(g.w, "closed"), To: long},
	} {
		monitor := g.NewChangeMonitor(EnforcerOptions{})
		if err := monitored(monitor, m, func() error { return nil }); err == nil {
			t.Errorf("%s passes", name)
		}
		if ended := monitor.FinishMonitor(); len(ended.Reasons) != 1 || m.Path == long && !strings.Contains(ended.Reasons[0], "too long") {
			t.Errorf("%s: %+v", name, ended)
		}
	}
}

func TestMonitorTellsOfGit(t *testing.T) {
	g := newGround(t, defaults)
	g.deep(".git/HEAD")
	refuse := mutation.FileMutation{Kind: mutation.Write, Path: filepath.Join(g.w, ".git/hooks/x"), Thread: os.Getpid()}
	monitor := g.NewChangeMonitor(EnforcerOptions{})
	_ = monitor.BeforeChange(refuse)
	if monitor.FinishMonitor().GitRefused {
		t.Error("this test is taken for git")
	}
	name, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.WriteFile("/proc/self/comm", name, 0) }()
	if err := os.WriteFile("/proc/self/comm", []byte("git-merge"), 0); err != nil {
		t.Fatal(err)
	}
	_ = monitor.BeforeChange(refuse)
	if !monitor.FinishMonitor().GitRefused {
		t.Error("git is not told")
	}
}

func TestMonitorChecksEachKindOfChange(t *testing.T) {
	g := newGround(t, defaults)
	g.all(".git/HEAD", ".git/objects/x", ".git/hooks/pre-commit", "sub/.git/HEAD", "sub/.vscode/x", "gh/workflows/x", ".github/f",
		"plain/f", "bare/HEAD", "bare/objects/x", "bare/refs/x", "half/objects/x", "half/HEAD", "half/evil", "hook")
	g.put(filepath.Join(g.w, ".git/config"), "[alias]\nx = !y\n")
	at := func(name string) string { return filepath.Join(g.w, name) }
	two := func(kind mutation.Kind, a, b string) mutation.FileMutation {
		return mutation.FileMutation{Kind: kind, Path: at(a), To: at(b)}
	}
	one := func(kind mutation.Kind, path string) mutation.FileMutation {
		return mutation.FileMutation{Kind: kind, Path: at(path)}
	}
	for name, c := range map[string]struct {
		mutation.FileMutation
		allowed bool
	}{
		"rename a file to a hook":       {two(mutation.Rename, "hook", "bare/hooks/update"), false},
		"rename a hook":                 {two(mutation.Rename, ".git/hooks/pre-commit", "x"), false},
		"rename a directory to .github": {two(mutation.Rename, "gh", "sub/.github"), false},
		"rename a directory with hooks": {two(mutation.Rename, ".git", "x"), false},
		"rename a repository's .git":    {two(mutation.Rename, "sub/.git", "x"), false},
		"rename a plain directory":      {two(mutation.Rename, "plain", "x"), true},
		"rename a bare repository":      {two(mutation.Rename, "bare", "x"), true},
		"exchange with .github":         {two(mutation.Exchange, "gh", ".github"), false},
		"exchange from .github":         {two(mutation.Exchange, ".github", "gh"), false},
		"exchange plain directories":    {two(mutation.Exchange, "plain", "bare"), true},
		"exchange a file and a hook":    {two(mutation.Exchange, "hook", ".git/hooks/pre-commit"), false},
		"link a hook":                   {two(mutation.Link, ".git/hooks/pre-commit", "x"), false},
		"link to a hook":                {two(mutation.Link, "hook", ".git/hooks/x"), false},
		"link a judged file":            {two(mutation.Link, ".git/config", "x"), false},
		"link an unnamed file":          {mutation.FileMutation{Kind: mutation.Link, To: at(".git/hooks/x")}, false},
		"delete a hook":                 {one(mutation.Remove, ".git/hooks/pre-commit"), false},
		"delete risky settings":         {one(mutation.Remove, ".git/config"), false},
		"delete a sample":               {one(mutation.Remove, ".git/hooks/x.sample"), true},
		"write settings in place":       {one(mutation.Write, ".git/config"), false},
		"write new settings in place":   {one(mutation.Write, "bare/config"), false},
		"write a lock":                  {one(mutation.Write, ".git/config.lock"), true},
		"write an unknown file":         {one(mutation.Write, "bare/unknown"), false},
		"complete a git directory":      {mutation.FileMutation{Kind: mutation.Make, Path: at("half/refs"), Dir: true}, false},
		"make a repository":             {mutation.FileMutation{Kind: mutation.Make, Path: at("plain/.git"), Dir: true}, true},
		"symlink .git":                  {one(mutation.Make, "plain/.git"), false},
		"symlink modules":               {one(mutation.Make, ".git/modules"), false},
		"a probe for symlinks":          {one(mutation.Make, ".git/tAbCdEf"), true},
		"chmod a hook":                  {one(mutation.Attribute, ".git/hooks/pre-commit"), false},
		"chmod settings":                {one(mutation.Attribute, ".git/config"), false},
	} {
		monitor := g.NewChangeMonitor(EnforcerOptions{})
		if err := monitor.BeforeChange(c.FileMutation); (err == nil) != c.allowed {
			t.Errorf("%s: %v, %+v", name, err, monitor.FinishMonitor())
		}
	}
	monitor := g.NewChangeMonitor(EnforcerOptions{})
	probe := one(mutation.Make, "bare/tAbCdEf")
	if err := monitored(monitor, probe, func() error { return os.Symlink("/", probe.Path) }); err != nil {
		t.Fatal(err)
	}
	monitor.FinishMonitor()
	if _, err := os.Lstat(probe.Path); err == nil {
		t.Error("a symlink stays in a git directory")
	}
}

// Later commands may delete the editor's files in a repository that an earlier command made, and change none.
func TestMonitorLetsMadeRepositoriesBeDeleted(t *testing.T) {
	g := newGround(t, defaults)
	dir, git := filepath.Join(g.w, "copy"), filepath.Join(g.w, "copy/.git")
	monitor := g.NewChangeMonitor(EnforcerOptions{})
	for _, path := range []string{dir, git, filepath.Join(dir, ".vscode")} {
		made := mutation.FileMutation{Kind: mutation.Make, Path: path, Dir: true}
		if err := monitored(monitor, made, func() error { return os.Mkdir(path, 0o755) }); err != nil {
			t.Fatal(err)
		}
	}
	g.deep("copy/.vscode/x")
	monitor.FinishMonitor()
	later := g.NewChangeMonitor(EnforcerOptions{})
	file := filepath.Join(dir, ".vscode/x")
	if later.BeforeChange(mutation.FileMutation{Kind: mutation.Write, Path: file}) == nil {
		t.Error("it may be changed")
	}
	if err := later.BeforeChange(mutation.FileMutation{Kind: mutation.Remove, Path: file}); err != nil {
		t.Error(err)
	}
}
