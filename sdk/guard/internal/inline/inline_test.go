package inline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// show writes an effect in one line, with "…" for what is computed.
func show(effects []CodeEffect) string {
	var out []string
	for _, e := range effects {
		what := e.Text
		if e.Kind == Argv {
			what = strings.Join(e.Argv, " ")
		}
		if e.Kind == Computed {
			what = ""
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s", e.Kind, strings.ReplaceAll(what, shell.Unknown, "…"))))
	}
	return strings.Join(out, "; ")
}

func TestEffects(t *testing.T) {
	for _, c := range []struct{ language, code, want string }{
		{"python", `import os; os.system("rm -rf build")`, "shell rm -rf build"},
		{"python", `import os as o; o.system('ls')`, "shell ls"},
		{"python", `from os import system as s, popen; s('ls'); popen("id")`, "shell ls; shell id"},
		{"python", `__import__('os').system('id')`, "shell id"},
		{"python", `import subprocess; subprocess.run(["rm", "-rf", d], check=True)`, "argv rm -rf …"},
		{"python", `subprocess.run("ls " + d, shell=True, cwd="/x")`, "list /x; shell ls …"},
		{"python", `subprocess.run(f"ls {d}", shell=True)`, "shell ls …"},
		{"python", `subprocess.check_output(args=["id"])`, "argv id"},
		{"python", `subprocess.run(cmd)`, "computed"},
		{"python", `print(open("/etc/passwd").read())`, "read /etc/passwd"},
		{"python", `open("a", "w"); open("b", mode="a"); open(c)`, "write a; write b"},
		{"python", "'''os.system(\"x\")'''\n# os.system('x')\n", ""},
		{"python", `def system(x): pass` + "\n" + `print("os.system('x')")`, ""},
		{"python", `shutil.rmtree("a"); shutil.rmtree(d)`, "argv rm -r a"},
		{"python", `os.kill(pid, signal.SIGKILL); os.kill(pid, 9); os.chmod(p, 0o777)`,
			"argv kill -SIGKILL …; argv kill -9 …; argv chmod 777 …"},
		{"python", `os.execvp("rm", ["rm", "-rf", "a"])`, "argv rm -rf a"},
		{"python", `exec("import os; os.system('id')"); eval(x)`, "shell id; computed"},
		{"python", `import os
while True: os.fork()`, "fork-bomb fork in a loop"},
		{"node", `require('child_process').execSync("id", {stdio: 'inherit'})`, "shell id"},
		{"node", `const {exec} = require("child_process"); exec('ls', (e, out) => console.log(out))`, "shell ls"},
		{"node", `/a(b)/.exec('rm -rf x')`, ""},
		{"node", `require('child_process').spawnSync("rm", ["-rf", "a"])`, "argv rm -rf a"},
		{"node", "fs.readFileSync('/etc/passwd'); fs.writeFileSync(`${d}/a`, x) // fs.unlinkSync('z')", "read /etc/passwd"},
		{"node", `fs.rmSync("a", {recursive: true})`, "argv rm -r a"},
		{"perl", `system("rm", "-rf", "a"); system "ls"; print ` + "`id`" + `; exec qw(a b);`,
			"argv rm -rf a; shell ls; shell id; argv a b"},
		{"perl", `open(F, "<", "/etc/passwd"); open G, ">a"; open(H, "ls |");`,
			"shell ls; read /etc/passwd; write a; shell ls"},
		{"perl", `unlink "a"; kill 9, $pid; qx{id}`, "delete a; argv kill -9 …; shell id"},
		{"ruby", `system("ls #{d}"); puts %x(id); File.read('a'); FileUtils.rm_rf("b")`,
			"shell ls …; shell id; read a; argv rm -r b"},
		{"ruby", `IO.popen(["ls", "-l"]) if true`, "argv ls -l"},
		{"php", `system("ls $d"); echo file_get_contents('/etc/passwd');`, "shell ls …; read /etc/passwd"},
		{"lua", `os.execute("ls")`, "shell ls"},
		{"awk", `BEGIN { system("ls"); "id" | getline x; print "a" > "b"; while ((getline l < "c") > 0) print l | "sort" }`,
			"shell id; shell sort; write b; read c; shell ls"},
		{"sed", "s/a/b/w c\nr d\n1e ls\ns/x/y/", "write c; read d; shell ls"},
		{"make", "all: a; ls\n\t@echo $(shell id)\n", "shell id; shell echo $(shell id); shell ls"},
		{"cron", "# x\nA=b\n0 4 * * 1 ls -l\n@daily id\n", "shell ls -l; shell id"},
		{"sql", ".shell ls\nselect readfile('/etc/passwd');", "shell ls; read /etc/passwd"},
		{"vim", "!ls", "shell ls"},
		{"klingon", `(shell-command "ls")`, "shell ls"},
	} {
		if got := show(FindEffects(c.language, c.code)); got != c.want {
			t.Errorf("%s %q:\n got %s\nwant %s", c.language, c.code, got, c.want)
		}
	}
}

// TestEffectsEnd shows that nesting and size have bounds.
func TestEffectsEnd(t *testing.T) {
	for _, c := range []struct{ language, code string }{
		{"python", strings.Repeat("os.system(", 1600)},
		{"python", strings.Repeat("eval('", 2000)},
		{"perl", strings.Repeat("system system ", 1100)},
		{"ruby", strings.Repeat("system [", 2000)},
		{"node", strings.Repeat("execSync({", 1600)},
		{"awk", strings.Repeat(`"a" | getline `, 1100)},
		{"sed", strings.Repeat("s/a/b/e;", 2000)},
		{"make", "a:" + strings.Repeat("$(shell (", 1800)},
		{"vim", strings.Repeat("w ", 8000)},
	} {
		start := time.Now()
		FindEffects(c.language, c.code)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: %s", c.language, took)
		} else if testing.Verbose() {
			t.Logf("%s %s", c.language, took)
		}
	}
}

func TestTableIsStrict(t *testing.T) {
	if _, err := parseLanguageTables([]byte(`[{"language": "x", "quotes": "", "cals": []}]`)); err == nil {
		t.Error("an unknown field was taken")
	}
	for name, l := range loadTables() {
		for i := range l.Calls {
			if c := l.Calls[i]; (c.Action == "") == (c.Template == "") {
				t.Errorf("%s: %s: it needs either does or as", name, c.Names)
			}
		}
	}
}

func FuzzEffects(f *testing.F) {
	f.Add("python", `import os; os.system("ls")`)
	f.Add("perl", `system qw(a b); open F, "<a"`)
	f.Fuzz(func(t *testing.T, language, code string) {
		if len(code) <= 1<<14 {
			FindEffects(language, code)
		}
	})
}
