package lang

import "testing"

func TestCalculates(t *testing.T) {
	for _, c := range []struct {
		language, code string
		want           bool
	}{
		{"node", `path.resolve('/app','../x')`, true},
		{"node", `console.log(require('path').join("/app", "..", "x"))`, true},
		{"node", `const path = require("node:path"); console.log(path.relative('/a/b', '/a/c'), path.sep)`, true},
		{"node", `import path from 'path'; console.log(path.normalize('/a/../b'))`, true},
		{"node", `import { resolve } from "node:path"; console.log(resolve(process.cwd(), "../x"))`, true},
		{"node", `const {resolve} = require('path'); for (const x of ['/etc/a', '../b']) console.log(x, resolve('/srv', x))`, true},
		{"node", `console.log(new URL('../x', 'file:///etc/y').pathname)`, true},
		{"node", `['/etc/a', '../b'].map(x => path.basename(x)).forEach(x => console.log(x))`, true},
		{"node", `console.log(f("/etc/x"))`, false},
		{"node", `const a = '/etc/passwd'`, false},
		{"node", `[f].map(x => x("/etc/passwd"))`, false},
		{"node", `[f].map(x => x?.("/etc/passwd"))`, false},
		{"python", `a = "/etc/passwd"`, false},
		{"python", `path = "/etc/passwd"`, false},
		{"python", `print(f('/etc/passwd'))`, false},
		{"node", `fs.readFileSync('/etc/passwd')`, false},
		{"node", `console.log(require('fs').readFileSync('/etc/passwd', 'utf8'))`, false},
		{"node", `require('/etc/x.js')`, false},
		{"node", `import('/etc/x.mjs')`, false},
		{"node", `import '/etc/x.mjs'`, false},
		{"node", `import x from '/etc/x.mjs'; console.log(x)`, false},
		{"node", `const r = require; r('fs')['readFileSync']('/etc/passwd')`, false},
		{"node", `['/etc/passwd'].map(require)`, false},
		{"node", `console["constructor"]["constructor"]("x")('/etc/passwd')`, false},
		{"node", `const a = 'readFileSync'; path[a]('/etc/passwd')`, false},
		{"node", `path?.["x"]('/etc/passwd')`, false},
		{"node", `process.binding('fs').open('/etc/passwd')`, false},
		{"node", "console.log(`${require('fs').readFileSync('/etc/passwd')}`)", false},
		{"node", `r\u0065quire('fs').readFileSync('/etc/passwd')`, false},
		{"node", `process.chdir('/etc'); console.log(process.cwd())`, false},
		{"python", `import os; print(os.path.join('/etc', '..', 'x'))`, true},
		{"python", `from pathlib import PurePosixPath; print(PurePosixPath('/etc/x').parent)`, true},
		{"python", `import os.path; print(os.path.normpath("/etc/../x"), os.path.relpath('/a', '/b'))`, true},
		{"python", `print(open('/etc/passwd').read())`, false},
		{"python", `from pathlib import Path; print(Path('/etc/passwd').read_text())`, false},
		{"python", `import os; print(os.listdir('/etc'))`, false},
		{"python", `from os import *; print(listdir('/etc'))`, false},
		{"python", `print(f"{open('/etc/passwd').read()}")`, false},
		{"python", `import os; print(getattr(os, 'listdir')('/etc'))`, false},
		{"python", `import os; print(os.__dict__['listdir']('/etc'))`, false},
		{"python", `import os; print(os.path.exists('/etc/passwd'))`, false},
		{"ruby", `puts File.join('/etc', '..', 'x')`, true},
		{"ruby", `require 'pathname'; puts Pathname('/a/b').relative_path_from(Pathname('/a/c'))`, true},
		{"ruby", `puts File.read('/etc/passwd')`, false},
		{"ruby", `puts "#{File.read('/etc/passwd')}"`, false},
		{"ruby", `File.new('/etc/passwd').each { |l| puts l }`, false},
		{"ruby", `$stdin.reopen('/etc/passwd')`, false},
		{"perl", `print '/etc/passwd'`, false},
	} {
		if got := calculates(c.language, c.code); got != c.want {
			t.Errorf("%s: %s: %v", c.language, c.code, got)
		}
	}
}
