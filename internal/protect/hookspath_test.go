package protect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The directory that core.hooksPath names is protected like .githooks, in each kind of repository.
func TestHooksPathIsProtected(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(".git/config", "[core]\n\thooksPath = old\n\tHooksPath = \"Tools/hk\" ; ours\n")
	write("sub/.git", "gitdir: ../.git/modules/sub\n")
	write(".git/modules/sub/config", "[core]\n\thookspath=scripts\n")
	write("tree/.git", "gitdir: "+dir+"/.git/worktrees/tree\n")
	write(".git/worktrees/tree/commondir", "../..\n")
	write("plain/.git/config", "[core]\n\thooksPath = ~/hooks\n")
	write("absolute/.git/config", "[core]\n\thooksPath = "+dir+"/absolute/h\n")
	write("top/.git/config", "[core]\n\thooksPath = .\n")
	r, err := CompileRules(dir, Defaults(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time from the cache
		for path, want := range map[string]bool{"tools/hk": true, "tools/HK/pre-commit": true, "tools/hk/a/b": true, "tools": false, "tools/hkx": false,
			"old/pre-commit": false, "sub/scripts/x": true, "sub/tools/hk/x": false, "scripts/x": false, "tree/tools/hk/x": true,
			"plain/hooks/x": false, "absolute/h/x": true, "top/x": false, ".git/config/x": true} {
			hit, ok := r.Match(filepath.Join(dir, path))
			if ok != want || ok && !strings.HasPrefix(path, ".git/") && (hit.Entry != gitHooks || !hit.Ask || strings.Count(r.RelativeName(hit.Path), "/") > 1+strings.Count(path, "/")) {
				t.Errorf("%s: %v %+v; want %v", path, ok, hit, want)
			}
		}
	}
	if _, ok := r.MatchWithType(filepath.Join(dir, "tools"), os.ModeSymlink); !ok {
		t.Error("a symlink may replace the parent of the directory")
	}
	write(".git/config", "[core]\n\thooksPath = new/place\n")
	if _, ok := r.Match(filepath.Join(dir, "new/place/x")); !ok {
		t.Error("a changed configuration has no effect")
	}
	lists, err := Defaults().WithOperatorLists(nil, nil, []string{gitHooks})
	if err != nil {
		t.Fatal(err)
	}
	if r, err = CompileRules(dir, lists, nil); err != nil {
		t.Fatal(err)
	}
	if hit, ok := r.Match(filepath.Join(dir, "new/place/x")); ok {
		t.Errorf("the operator allows it: %+v", hit)
	}
}
