package programs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// shown writes uses as "role text", one after the other.
func shown(uses []ArgumentUse) string {
	var out []string
	for _, u := range uses {
		text := u.Text
		if u.Kind == Command {
			text = strings.TrimSpace(text + " " + strings.Join(shell.ArgumentTexts(u.Argv), " "))
			if u.Dir != "" {
				text += " in " + u.Dir
			}
			if u.Items {
				text += " with items"
			}
		}
		name := "input"
		for n, kind := range kindsByName {
			if kind == u.Kind {
				name = n
			}
		}
		if u.Kind == Code || u.Kind == Script || u.Kind == Input {
			name += " " + u.Lang
		}
		out = append(out, strings.TrimSpace(name+" "+text))
	}
	return strings.Join(out, "; ")
}

// split is a command line in its words. A word between single quotes may hold spaces.
func split(line string) []string {
	var out []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}

func usesOf(line string) []ArgumentUse {
	argv := split(line)
	return FindArgumentUses(CanonicalProgramName(argv[0]), shell.PlainArguments(argv[1:]...))
}

func TestUses(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		// Roles of operands and options.
		{"cat a b", "read a; read b"},
		{"cp a b c", "read a; read b; write c"},
		{"cp -t dir a", "write dir; read a"},
		{"mv a b", "delete a; write b"},
		{"rm -rf a", "delete a"},
		{"ls -la a", "list a"},
		{"echo /etc a", "data /etc; data a"},
		{"grep -r x a", "data x; read a"},
		{"grep -e x -f p a", "data x; read p; read a"},
		{"grep --exp=x a", "path --exp=x; data a"},
		{"sort -t/ -k2 -o out a", "data /; data 2; write out; read a"},
		{"cut -d/ -f1 a", "data /; data 1; read a"},
		{"tr / -", "data /; data -"},
		{"jq --arg a b --slurpfile f x . in", "data a; data b; data f; read x; data .; read in"},
		{"unknown -I/usr/x --out=y --title /z --what=/a b", "path /usr/x; write y; data /z; path --what=/a; path b"},
		{"unknown --json a -- --title /z", "data a; path --title; path /z"},
		{"test a = /b", ""},
		{"test -x /usr/bin/x -a -f /etc/y", "path -x; path -a; path -f; path /etc/y"},
		{"[ -f a ]", "path -f; path a; path ]"},

		// Languages.
		{"sed -n /a/p f", "code sed /a/p; read f"},
		{"sed -i.bak -e s/a/b/ -f x f", "path .bak; code sed s/a/b/; script sed x; read f"},
		{"gawk -F/ {print} f", "data /; code awk {print}; path f"},
		{"awk -i inplace {print} f", "script awk inplace; code awk {print}; path f"},
		{"python3.12 -c x a", "code python x; path a"},
		{"python -um pip install a", "command pip install a"},
		{"python -mpip install a", "command pip install a"},
		{"python a.py --out=b --title /c", "script python a.py; write b; data /c"},
		{"python -", "input python"},
		{"python", "input python"},
		{"perl -i.save -pe s/a/b/ f", "data .save; code perl s/a/b/; path f"},
		{"perl -0777ne x f", "code perl x; path f"},
		{"node -pe 1", "code node 1"},
		{"node inspect a.js", "path a.js"},
		{"php -r x", "code php x"},
		{"sqlite3 a.db '.tables' 'select 1'", "write a.db; code sql .tables; code sql select 1"},
		{"sqlite3 a.db", "write a.db; input sql"},
		{"vim +q -c 'r x' a", "code vim q; code vim r x; write a"},
		{"ed !ls", "code vim !ls"},
		{"crontab a", "script cron a"},
		{"crontab -", "input cron"},
		{"at -f a now", "script sh a; data now"},
		{"source a /b", "script sh a; path /b"},
		{"deno eval x", "code node x"},

		// Wrappers and verbs.
		{"uv run x -y", "command x -y"},
		{"uv run --with a python -c b", "data a; command python -c b"},
		{"uv --directory sub run cat ../x", "enter sub; command cat ../x in sub"},
		{"uv tool run x", "command x"},
		{"uv pip install -r a", "read a; data pip; path install"},
		{"bundle exec x y", "command x y"},
		{"npm exec -- x y", "command x y"},
		{"npm exec 'x y'", "code sh x y"},
		{"timeout -k 5 10 x -k", "data 5; data 10; command x -k"},
		{"flock a -c 'x y'", "code sh x y; write a"},
		{"flock a x -c", "write a; command x -c"},
		{"watch -n 5 x -y", "data 5; code sh x -y"},
		{"watch -x bash -c 'x y'", "command bash -c x y"},
		{"ssh host x -y", "data host; code sh x -y"},
		{"tmux new -s a 'x y'", "data a; code sh x y"},
		{"start-stop-daemon --start --exec /bin/x -- -y", "command /bin/x -y"},
		{"sudo -u a -D d x", "data a; enter d; command x in d"},
		{"fd -e go a -x rm {}", "data go; command rm " + shell.Item + "; data a"},
		{"docker-compose -f a up", "read a; data up"},
		{"aws logs tail /aws/x --since 1h", "data 1h; data tail; data /aws/x"},
		{"aws ssm get-parameter --name /a/b", "data /a/b; data get-parameter"},
		{"aws s3 cp a b", "data s3; data cp; path a; path b"},
		{"bazel test //pkg:x //...", "data test; data //pkg:x; data //..."},
		{"dotnet build /t:Build /p:X=/y", "path Build; path X=/y; path build"},
		{"kubectl get --raw /healthz", "data /healthz; data get"},
		{"terraform -chdir=sub plan -var-file=../x", "enter sub; read sub/../x"},
		{"go build -C sub -o ../x ./a", "enter sub; write sub/../x; data build; path sub/./a"},
		{"go run ./a -C b", "path ./a; path b"},

		// Handlers.
		{"git -C a -C b log -- ../x", "enter a; enter a/b; path a/b/../x"},
		{"git -c core.pager=x log", "code sh x"},
		{"git -c alias.y=!x y", "code sh x"},
		{"git -c alias.y=log y z", "command git log; command git log z"},
		{"git config core.editor 'x y'", "code sh x y"},
		{"git config user.name a", ""},
		{"git clone 'ext::x % y z' d", "command x  y z; write d"},
		{"git clone -c core.fsmonitor=x a@b:c", "code sh x; data a@b:c"},
		{"git bisect run x y", "command x y"},
		{"git submodule foreach --recursive 'x y'", "code sh x y"},
		{"git rebase -x y main", "code sh y; path main"},
		{"git grep -Ox -e a b", "code sh x; data a; path b"},
		{"git show HEAD:/a", "data HEAD:/a"},
		{"git commit -am /x a", "data /x; path a"},
		{"git push origin /x", "data origin; data /x"},
		{
			"find -L a b -name c -newer d -exec rm {} ; -fprintf e f",
			"list " + shell.Unknown + "; list a; list b; data c; read d; command rm " + shell.Item + "; write e",
		},
		{"find a -follow -files0-from b", "list a; list " + shell.Unknown + "; list " + shell.Unknown + "; read b"},
		{"tar xzf a -C b c", "read a; enter b; write b"},
		{"tar czf a -C b c /d", "write a; enter b; read b/c; read /d"},
		{"tar -x --checkpoint-action=exec=y -f a", "code sh y; read a"},
		{"rsync -e x a b", "code sh x; read a; write b"},
		{"rsync a host:/b", "read a; data host:/b"},
		{"scp host:/a b", "data host:/a; path b"},
		{"make -C a -f ../b x", "enter a; script make a/../b; path a/x"},
		{"make PREFIX=/usr CC=x", "code sh x; path x"},
		{"make install PREFIX=/usr", "path install; path /usr"},
		{"make install PREFIX=/usr DESTDIR=out", "path install; path out"},
		{"env -C a X=1 y z", "enter a; command y z in a"},
		{"env -S 'x y' z", "code sh env x y 'z'"},
		{"xargs -n1 rm -f", "data 1; command rm -f with items"},
		{"xargs -I{} mv {} a", "data {}; command {} mv {} a with items"},
		{"parallel x ::: a b", "code sh x a; code sh x b; command x with items"},
		{"parallel ::: a b", "code sh a; code sh b"},
		{"parallel", "input sh"},
		{
			"gcc -I/usr/include/x -I../y -O2 -wrapper a,b c.c -o d",
			"list ../y; data 2; command a b; write d; path c.c",
		},
		{"dd if=a of=b bs=1", "read a; write b; data bs=1"},
		{"ln -s ../a b/c", "write b/c; read b/../a"},
		{"ln a b", "write b; read a"},
		{"curl -d @a -F x=@b;type=c -H X:/y -o d http://e", "read a; read b; write d; data http://e"},
		{"curl file:///a", "path file:///a"},
		{"http POST :3000/x f@a n=/b", "data POST; read a"},
		{
			"docker run -v /a:/b -v c:/d --mount type=bind,source=/e,target=/f img ls /g",
			"write /a; write /e; data img; data ls; data /g",
		},
		{"docker cp a web:/b", "path a; data web:/b"},
		{"docker build -f a b", "read a; path b"},
		{"bash -xc x a", "code sh x"},
		{"bash -o pipefail a b", "script sh a; path b"},
		{"bash -n a", "read a"},
		{"bash -s a", "input sh; path a"},
		{"cmd /c dir x", "code cmd dir x"},
		{"pwsh -NoProfile -Command ls x", "code powershell ls x"},
		{"powershell -ExecutionPolicy Bypass -File a", "script powershell a"},
		{"powershell -enc x", "code powershell " + shell.Unknown},
	} {
		if diff := cmp.Diff(c.want, shown(usesOf(c.line))); diff != "" {
			t.Errorf("%s\n%s", c.line, diff)
		}
	}
}

func TestCanonicalName(t *testing.T) {
	for name, want := range map[string]string{
		"python3.12": "python", "pypy3": "python", "gawk": "awk", "pwsh": "powershell", "pip3": "pip", "gpg2": "gpg",
		"grm": "grm", "sha256sum": "sha256sum", "base64": "base64",
		"7z": "7z", "nodejs": "node", "x-1": "x-1", "2048": "2048",
	} {
		if got := CanonicalProgramName(name); got != want {
			t.Errorf("CanonicalName(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestOptions(t *testing.T) {
	args := split("-C sub commit -am text a --amend")
	parsed := ParseArguments("git", args)
	var operands []string
	for _, i := range parsed.Operands {
		operands = append(operands, args[i])
	}
	if diff := cmp.Diff([]string{"commit", "a"}, operands); diff != "" {
		t.Error(diff)
	}
	if message, _ := parsed.LastOptionValue("-m"); message != "text" || !parsed.HasOption("--amend") || parsed.HasOption("--all") {
		t.Errorf("%+v", parsed.Options)
	}
}

func TestUnderstood(t *testing.T) {
	for name, want := range map[string]bool{"cat": true, "git": true, "timeout": true, "cargo": false, "none": false} {
		if KnowsAllOperands(name) != want {
			t.Errorf("Understood(%q) = %v", name, !want)
		}
	}
}

func TestRemote(t *testing.T) {
	for word, want := range map[string]bool{
		"https://a/b": true, "a@b:c": true, "file:///a": false, "FILE://a": false, "/a:b": false, "a=b@c:d": false,
		"a:b": false,
	} {
		if IsRemoteFile(word) != want {
			t.Errorf("Remote(%q) = %v", word, !want)
		}
	}
}

// TestOddArguments checks that every program takes arguments as they shouldn't be.
func TestOddArguments(t *testing.T) {
	odd := strings.Fields("- -- -o -c -e -f -x -m -S -I --= -= + ! = : / /c -exec -C")
	for name, e := range loadTable() {
		firsts := append([]string{""}, odd...)
		for option := range e.optionSpec().Values {
			firsts = append(firsts, option, option+"=", option+"x")
		}
		for _, first := range firsts {
			FindArgumentUses(name, shell.PlainArguments(first))
			for _, second := range []string{"", "a", "-x", "--"} {
				FindArgumentUses(name, shell.PlainArguments(first, second))
				FindArgumentUses(name, shell.PlainArguments("run", first, second))
			}
		}
	}
}
