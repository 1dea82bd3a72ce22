package protected_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

// layout is a repository with git directories of all kinds. $D is a random depth of a submodule's name.
const layout = `
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=protocol.file.allow GIT_CONFIG_VALUE_0=always
git init -q -b main .; echo 1 > f; git add f; git commit -qm one; git branch side
git init -q -b main nested; echo 1 > nested/f; git -C nested add f; git -C nested commit -qm one
git submodule --quiet add ./nested $D; git submodule --quiet add ./nested lib/b; git commit -qm modules
git worktree add -q wt; git worktree add -q deep/er/wt2
git clone -q --bare nested bare.git; git clone -q -s nested shared; mkdir store; git clone -q --separate-git-dir=store/sep nested sep
git -C nested remote add local ../bare.git; git config include.path extra; git config alias.x status
mkdir -p e/repo/hooks e/half/objects e/half/hooks .github; cp -r .git/objects .git/refs .git/HEAD e/repo || true
rm e/repo/HEAD
`

// plants are ways to plant the canary: shell scripts in which $H is the hook, $C the configuration that runs it, $G a
// git directory, $N a new path, $T the top of a work tree and $O another git directory.
var plants = []string{
	"cp $H $G/hooks/$K", "cp $H $N; mv $N $G/hooks/$K", "ln -s $H $G/hooks/$K", "ln $H $G/hooks/$K", "mkdir -p $G/hooks; cp $H $G/hooks/$K",
	"cp $C $G/config", "cp $C $N; mv $N $G/config", "cp $C $G/config.lock; mv $G/config.lock $G/config", "cat $C >> $G/config",
	"ln -sf $PWD/$C $G/config", "rm -f $G/config; cp $C $G/config", "rm -f $G/config; ln $C $G/config", "cp $C $G/extra",
	"cp $C $G/config.worktree; git -C $T config extensions.worktreeConfig true", "git --git-dir=$G config core.fsmonitor $PWD/$H",
	"git --git-dir=$G config include.path $PWD/$C", "git --git-dir=$G config core.hooksPath $PWD/e", "git --git-dir=$G config core.worktree /",
	"mv $G/hooks $N; mkdir $G/hooks; cp $H $G/hooks/$K", "mv $G $N; mkdir $G; cp -r $N/. $G; cp $C $G/config",
	"mv $T $N; cp $C $N/.git/config; mv $N $T", "exchange $G/hooks e/hooks", "exchange $G e/evil", "exchange $G/config $C",
	"echo $PWD/e/evil > $G/commondir", "echo 'gitdir: '$PWD/e/evil > $T/.git", "rm -rf $T/.git; echo 'gitdir: '$PWD/e/evil > $T/.git",
	"mkdir -p $N; echo 'gitdir: '$PWD/e/evil > $N/.git", "mkdir -p $N; ln -s $PWD/e/evil $N/.git", "cp -r e/evil $N", "cp -r e/evil $N; mkdir $N.d; mv $N $N.d/.git",
	"cp -r e/repo $N; cp $C $N/config; cp .git/HEAD $N", "cp .git/HEAD e/repo; cp $C e/repo/config", "cp $C e/repo/config; cp .git/HEAD e/repo",
	"cp $C e/repo/config; mkdir -p $N; mv e/repo $N/.git; cp .git/HEAD $N/.git", "cp $H e/repo/hooks/$K; mv e/repo $N; echo ref: refs/heads/main > $N/HEAD",
	"cp -r e/repo e/half2; cp $C e/half2/config; mv e/half2 .git/modules/$R; echo x > .git/modules/$R/HEAD", "mkdir -p .git/modules; cp -r e/evil .git/modules/$R",
	"cp -r e/evil .git/worktrees/$R; mkdir -p $N; echo gitdir: $PWD/.git/worktrees/$R > $N/.git", "git init -q --separate-git-dir=.git/modules/$R $N; cp $C .git/modules/$R/config",
	"git init -q --template=e $N", "git clone -q -c core.fsmonitor=$PWD/$H nested $N", "git init -q $N; cp $H $N/.git/hooks/$K", "git init -q --bare $N; cp $C $N/config",
	"git init -q $N; rm $N/.git/HEAD; cp $C $N/.git/config; cp .git/HEAD $N/.git", "git init -q $N; mv $N/.git/refs $N; cp $C $N/.git/config; mv $N/refs $N/.git",
	"git init -q $HOME/$R; cp $C $HOME/$R/.git/config; mv $HOME/$R $N", "git init -q $HOME/$R; cp $H $HOME/$R/.git/hooks/$K; mv -T $HOME/$R/.git $N",
	"tar cf e/t.tar -C e evil; mkdir -p $N; tar xf e/t.tar -C $N --transform 's,^evil,.git,'", "rm -rf $T; cp -r e/evil $T", "rm -rf $G/info; ln -s $PWD/e $G/info",
	"mkdir 'q (deleted)'; cd 'q (deleted)'; cp ../$C ../$G/config; cp ../$H ../$G/hooks/$K", "mkdir q; cd q; rmdir ../q; cp /proc/self/cwd/../$C ../$G/config",
	"cd $G; cp $OLDPWD/$C config; cd hooks; cp $OLDPWD/../$H $K; cp $H $K", "echo /tmp > $G/objects/info/alternates; echo '* filter=x' > $G/info/attributes",
	"rm -f bare.git/HEAD; cp $H bare.git/hooks/$K; cp .git/HEAD bare.git", "mv bare.git/objects $N; cp $C bare.git/config; mv $N bare.git/objects",
	"mkdir -p $N; mv $G $N/g; cp $C $N/g/config; mv $N/g $G", "exec 3>> $N; cat $O/config >&3; mv $N $G/config; cat $C >&3", "cat $O/config > $N; ln $N e/l; mv $N $G/config; cat $C >> e/l",
	"git -C $T checkout -q side; git -C $T stash; cp $C $T/.gitmodules", "index .git/hooks/$K > $N; mv $N $G/index", "index .git/hooks/$K > $G/index.lock; mv $G/index.lock $G/index", "index .git/hooks/$K > $G/index",
	"index .git/hooks/$K > $N; mv $N $G/sharedindex.0123456789012345678901234567890123456789", "cd $T; git config remote.home.url $HOME/home.git", "git init -q --bare $HOME/home.git; cp $H $HOME/home.git/hooks/post-receive",
	"cp -r e/evil $HOME/home.git; mkdir -p $HOME/home.git/refs; cp .git/HEAD $HOME/home.git; cd $T; git remote add home $HOME/home.git", "git clone -q --bare --template=e nested $HOME/home.git",
	"mkdir -p $G/rebase-merge; cp .git/HEAD $G/rebase-merge/head-name; git rev-parse HEAD | tee $G/rebase-merge/onto > $G/rebase-merge/orig-head; printf 'exec\\t%s\\n' $PWD/$H > $G/rebase-merge/git-rebase-todo", "rm -rf .git/hooks sub; mkdir -p $N; cp -r .git $N; cp $C $N/.git/config", "thread $O/config $G/config $C",
}

// toolPlants are the same by tools.
var toolPlants = [][]string{
	{"write_file", "path", "$G/config", "content", "$CTEXT"}, {"write_file", "path", "$G/hooks/$K", "content", "$HTEXT"},
	{"append_file", "path", "$G/config", "content", "$CTEXT"}, {"write_file", "path", "$N/.git", "content", "gitdir: $W/e/evil\n"},
	{"write_file", "path", "$G/commondir", "content", "$W/e/evil\n"}, {"cp", "source", "$C", "destination", "$G/config", "overwrite", "true"},
	{"mv", "source", "$C", "destination", "$G/config", "overwrite", "true"}, {"cp", "source", "e/evil", "destination", "$N/.git"},
	{"mv", "source", "e/evil", "destination", "$N"}, {"cp", "source", "e/evil", "destination", ".git/modules/$R"}, {"mv", "source", "e/hooks", "destination", "$G/hooks", "overwrite", "true"},
	{"rm", "path", "$G/hooks", "recursive", "true"}, {"mv", "source", "$T", "destination", "$N"}, {"cp", "source", "$T", "destination", "$N"}, {"write_file", "path", "e/evil/HEAD", "content", "ref: refs/heads/main\n"},
	{"write_file", "path", "e/repo/HEAD", "content", "ref: refs/heads/main\n"}, {"mkdir", "path", "e/evil/refs"}, {"mv", "source", "e/half", "destination", "$G", "overwrite", "true"},
	{"write_file", "path", "$G/extra", "content", "$CTEXT"}, {"edit_file", "path", "$G/config", "old_text", "[core]", "new_text", "[core]\n\tfsmonitor = $W/$H"},
}

const helpers = `
index() { python3 - "$1" "$(git hash-object -w $H)" <<'EOF'
import hashlib, struct, sys
name, blob = sys.argv[1].encode(), bytes.fromhex(sys.argv[2])
entry = struct.pack(">10I", 0, 0, 0, 0, 0, 0, 0o100755, 0, 0, 0) + blob + struct.pack(">H", len(name)) + name
data = b"DIRC" + struct.pack(">II", 2, 1) + entry + b"\0" * (8 - len(entry) % 8)
sys.stdout.buffer.write(data + hashlib.sha1(data).digest())
EOF
}
exchange() { python3 -c 'import ctypes, sys; ctypes.CDLL(None).renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2)' "$1" "$2"; }
thread() { cp $1 e/good; python3 - e/good $2 $3 <<'EOF'
import os, sys, threading
good, to, evil = sys.argv[1:]
buffer = bytearray(good.encode() + b"\0" * 64)
import ctypes
text = (ctypes.c_char * len(buffer)).from_buffer(buffer)
stop = False
def swap():
    while not stop:
        for name in (good, evil):
            raw = name.encode() + b"\0"
            buffer[:len(raw)] = raw
t = threading.Thread(target=swap); t.start()
for n in range(40):
    ctypes.CDLL(None).rename(text, to.encode())
stop = True; t.join()
EOF
}
`

// canary is a workspace in which an agent plants a script, and a user whose git must not run it.
type canary struct {
	*clitest.Agent
	random  *rand.Rand
	outside string
	hit     string // exists once the script has run as the user
	call    func(clitest.ToolCall) clitest.CallResult
}

func newCanary(t *testing.T, isolated bool, seed uint64) *canary {
	c := &canary{Agent: clitest.NewAgent(t, isolated, "PICOCLAW_WORKSPACE_PROTECT_ENABLED=true"),
		random: rand.New(rand.NewPCG(seed, 0)), outside: t.TempDir()}
	c.hit = filepath.Join(c.outside, "hit")
	depth := strings.Repeat("x/", 1+c.random.IntN(4)) + "m"
	c.RunBashDirectly("D=" + depth + "\n" + layout + "\nmkdir -p e/evil/hooks e/hooks")
	c.put("e/hook", "#!/bin/sh\necho \"$0 in $PWD\" >> "+c.hit+"\n", 0o755)
	c.put("e/config", "[core]\n\trepositoryformatversion = 0\n\tworktree = "+c.Workspace+"\n\tfsmonitor = "+filepath.Join(c.Workspace, "e/hook")+"\n", 0o644)
	c.RunBashDirectly("cp e/hook e/hooks/post-commit; cp e/config e/evil/config; cp e/hook e/evil/hooks/post-commit; cp -r .git/objects e/evil; cp -a . ../kept")
	c.call = c.StartBatch()
	return c
}

func (c *canary) put(name, text string, mode os.FileMode) {
	c.T.Helper()
	if err := os.WriteFile(filepath.Join(c.Workspace, name), []byte(text), mode); err != nil {
		c.T.Fatal(err)
	}
}

func pick[T any](random *rand.Rand, list []T) T { return list[random.IntN(len(list))] }

// gitDirs returns the git directories of the workspace, relative to it.
func (c *canary) gitDirs() (dirs []string) {
	out, _ := exec.Command("bash", "-c", "cd "+c.Workspace+"; find . -name HEAD -not -path '*/logs/*' -not -path '*/refs/*' -printf '%P\n' | sort").Output()
	for name := range strings.Lines(string(out)) {
		dirs = append(dirs, filepath.Dir(strings.TrimSpace(name)))
	}
	return dirs
}

// step is one attempt of the agent's.
func (c *canary) step() (said string) {
	dirs := c.gitDirs()
	number := fmt.Sprint("r", c.random.IntN(1000))
	values := map[string]string{
		"H": "e/hook", "C": "e/config", "G": pick(c.random, dirs), "O": pick(c.random, dirs), "R": pick(c.random, []string{number, "a/" + number, "a/b/c/" + number}),
		"N": pick(c.random, []string{number, "a/" + number, ".git/modules/" + number, ".git/worktrees/" + number, "nested/" + number, "store/" + number}),
		"T": pick(c.random, []string{".", "nested", "wt", "sep", "shared", "lib/b"}), "W": c.Workspace,
		"K": pick(c.random, []string{"post-commit", "pre-commit", "post-checkout", "post-index-change", "reference-transaction"}),
	}
	if c.random.IntN(4) == 0 {
		for _, name := range []string{"CTEXT", "HTEXT"} {
			text, _ := os.ReadFile(filepath.Join(c.Workspace, map[string]string{"CTEXT": "e/config", "HTEXT": "e/hook"}[name]))
			values[name] = string(text)
		}
		plant := pick(c.random, toolPlants)
		args := map[string]any{}
		for i := 1; i < len(plant); i += 2 {
			value := os.Expand(plant[i+1], func(name string) string { return values[name] })
			args[plant[i]] = value
			if value == "true" {
				args[plant[i]] = true
			}
		}
		r := c.call(clitest.ToolCall{Tool: plant[0], Args: args})
		return fmt.Sprintf("%s %v: %s%s", plant[0], args, r.Error.Message, r.Text)
	}
	script := pick(c.random, plants)
	var assign strings.Builder
	for name, value := range values {
		fmt.Fprintf(&assign, "%s='%s'; ", name, value)
	}
	r := c.call(clitest.NewExecCall(assign.String() + "mkdir -p a store; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a " +
		"GIT_COMMITTER_EMAIL=a@b\n" + helpers + script))
	return fmt.Sprintf("G=%s N=%s T=%s O=%s R=%s K=%s %s: %s%s", values["G"], values["N"], values["T"], values["O"], values["R"], values["K"], script, r.Error.Message, r.Text)
}

// work has the user's git work in every directory.
func (c *canary) work() {
	script := `export GIT_AUTHOR_NAME=u GIT_AUTHOR_EMAIL=u@b GIT_COMMITTER_NAME=u GIT_COMMITTER_EMAIL=u@b GIT_TERMINAL_PROMPT=0 GIT_EDITOR=true
unset GIT_DIR; cd "$1"
{ find . -type d '(' -name objects -o -name refs -o -name logs -o -name hooks -o -name info -o -name branches ')' -prune -o -type d -print
	find . '(' -name HEAD -o -name .git ')' -printf '%h\n'; } | sort -u | while read -r d; do (cd "$d" 2>/dev/null || exit
	git status; [ -e .git -o -e HEAD ] || exit
	git log -1; git diff; git checkout -- .; git rebase --continue
	git commit --allow-empty -m x; git fetch local; git push home HEAD:refs/heads/$RANDOM; git checkout -f; git submodule status) </dev/null >/dev/null 2>&1; done`
	cmd := exec.Command("bash", "-c", script, "user", c.Workspace)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.outside}
	_ = cmd.Run()
}

func TestPlantedCanaryNeverRuns(t *testing.T) {
	t.Parallel()
	limit := 5 * time.Second
	if long {
		limit = 2 * time.Minute
	}
	for _, isolated := range []bool{true, false} {
		t.Run(fmt.Sprintf("isolated=%v", isolated), func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			if text := os.Getenv("PICOCLAW_TEST_SEED"); text != "" {
				_, _ = fmt.Sscan(text, &seed)
			}
			c := newCanary(t, isolated, seed)
			for end := time.Now().Add(limit); time.Now().Before(end); {
				var said []string
				for range 1 + c.random.IntN(8) {
					said = append(said, c.step())
				}
				c.work()
				if ran, err := os.ReadFile(c.hit); err == nil {
					t.Fatalf("seed %d: the user's git ran the canary:\n%s\nafter\n%s", seed, ran, strings.Join(said, "\n"))
				}
				c.RunBashDirectly("shopt -s dotglob; chmod -R u+rwX .; rm -rf *; cp -a ../kept/. .")
			}
		})
	}
}

// The canary runs where nothing is protected, so the user's git would find it.
func TestCanaryRunsWithoutProtection(t *testing.T) {
	t.Parallel()
	c := newCanary(t, false, 1)
	c.RunBashDirectly("cp e/config bare.git/config")
	c.work()
	c.RunBashDirectly("cp e/hook .git/hooks/post-commit")
	c.work()
	ran, _ := os.ReadFile(c.hit)
	if !strings.Contains(string(ran), "e/hook in") || !strings.Contains(string(ran), "post-commit") {
		t.Errorf("only ran: %s", ran)
	}
}
