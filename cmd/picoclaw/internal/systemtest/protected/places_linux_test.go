package protected_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

// Protection holds wherever home and workspace are, and however they are reached.
func TestProtectionHoldsInEveryPlace(t *testing.T) {
	t.Parallel()
	for _, isolated := range []bool{true, false} {
		for place, prepare := range map[string]func(*testing.T, *clitest.Agent) []string{
			"workspace_below_tmp": func(t *testing.T, a *clitest.Agent) []string {
				a.Workspace = filepath.Join(t.TempDir(), "w")
				return []string{"PICOCLAW_AGENTS_DEFAULTS_WORKSPACE=" + a.Workspace}
			},
			"home_below_tmp": func(t *testing.T, a *clitest.Agent) []string {
				a.Home = t.TempDir()
				a.Workspace = filepath.Join(a.Home, "workspace")
				if isolated {
					clitest.SeedSandboxCache(t, a.Home)
				}
				return []string{"PICOCLAW_HOME=" + a.Home, "HOME=" + a.Home}
			},
			"workspace_behind_a_symlink": func(t *testing.T, a *clitest.Agent) []string {
				a.Workspace = filepath.Join(a.Home, "real", "w")
				if err := os.Mkdir(filepath.Join(a.Home, "real"), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink("real", filepath.Join(a.Home, "link")); err != nil {
					t.Fatal(err)
				}
				return []string{"PICOCLAW_AGENTS_DEFAULTS_WORKSPACE=" + filepath.Join(a.Home, "link", "w")}
			},
			"linked_worktree": func(t *testing.T, a *clitest.Agent) []string {
				a.RunBashDirectly("git init -q -b main ../main; cd ../main; git commit -q --allow-empty -m x; git worktree add -q ../tree; mv ../tree/.git ../dotgit; rmdir ../tree")
				a.Workspace = filepath.Join(a.Home, "tree")
				return []string{"PICOCLAW_AGENTS_DEFAULTS_WORKSPACE=" + a.Workspace, "PICOCLAW_TOOLS_ALLOW_WRITE_PATHS=^" + a.Home + "/main/\\.git(/|$)",
					"PICOCLAW_TOOLS_ALLOW_READ_PATHS=^" + a.Home + "/main/\\.git(/|$)"}
			},
		} {
			t.Run(fmt.Sprintf("%s/isolated=%v", place, isolated), func(t *testing.T) {
				t.Parallel()
				a := clitest.NewAgent(t, isolated, "PICOCLAW_WORKSPACE_PROTECT_ENABLED=true")
				a.Env = append(a.Env, prepare(t, a)...)
				if err := os.MkdirAll(a.Workspace, 0o755); err != nil {
					t.Fatal(err)
				}
				git := filepath.Join(a.Workspace, ".git")
				if place == "linked_worktree" {
					a.RunBashDirectly("mv ../dotgit .git; git reset -q --hard")
					git = filepath.Join(a.Home, "main/.git")
				} else {
					a.RunBashDirectly("git init -q -b main .; git commit -q --allow-empty -m x")
				}
				hook := filepath.Join(git, "hooks/post-commit")
				for _, call := range []clitest.ToolCall{
					{Tool: "write_file", Args: map[string]any{"path": hook, "content": "evil"}},
					{Tool: "write_file", Args: map[string]any{"path": filepath.Join(git, "config"), "content": "[core]\n\tpager = evil\n"}},
					clitest.NewExecCall("echo evil > s; sh -c 'cat s > \"$0\"' " + hook),
					clitest.NewExecCall("sh -c 'git config core.fsmonitor evil'"), clitest.NewExecCall("sh -c 'cp s .envrc'"),
				} {
					if r := a.RunBatch(call)[0]; r.OK {
						t.Errorf("%v: %s", call, r.Text)
					}
				}
				for _, call := range []clitest.ToolCall{
					clitest.NewExecCall("git config user.name a; git config user.email a@b; echo 2 > f; git add f; git commit -qm f; git switch -q -c b"),
				} {
					if r := a.RunBatch(call)[0]; !r.OK || len(r.Structured.Protected) > 0 {
						t.Errorf("%v: %v %s", call, r.Error, r.Text)
					}
				}
				if _, err := os.Lstat(hook); err == nil {
					t.Error("a hook was written")
				}
				if _, err := os.Lstat(filepath.Join(a.Workspace, ".envrc")); err == nil {
					t.Error(".envrc was written")
				}
			})
		}
	}
}
