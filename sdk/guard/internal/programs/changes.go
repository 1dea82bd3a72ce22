package programs

import (
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
)

// changer is a program that changes to a directory before it looks at the rest of its arguments.
type changer struct {
	options []string // that name the directory
	verbs   []string // behind which these options may stand, too, at once
	spec    func() getopt.Spec
}

// changers are those programs. An option may belong to what they start, so it counts only in front of all operands, or behind a verb.
var changers = map[string]changer{
	"git":       {options: []string{"-C"}, spec: func() getopt.Spec { return gitSpec }},
	"go":        {options: []string{"-C"}, verbs: strings.Fields("build clean doc env fix fmt generate get install list mod run test tool vet work")},
	"cargo":     {options: []string{"-C"}},
	"make":      {options: []string{"-C", "--directory"}},
	"gmake":     {options: []string{"-C", "--directory"}},
	"bmake":     {options: []string{"-C"}},
	"ninja":     {options: []string{"-C"}},
	"meson":     {options: []string{"-C"}, verbs: strings.Fields("compile test install dist")},
	"pnpm":      {options: []string{"-C", "--dir"}, spec: func() getopt.Spec { return pnpmSpec }},
	"yarn":      {options: []string{"--cwd"}, spec: func() getopt.Spec { return npmSpec }},
	"bun":       {options: []string{"--cwd"}, verbs: strings.Fields("run test"), spec: func() getopt.Spec { return npmSpec }},
	"uv":        {options: []string{"--directory"}, verbs: strings.Fields("run sync lock add remove"), spec: func() getopt.Spec { return runnerSpec }},
	"poetry":    {options: []string{"-C", "--directory"}, verbs: strings.Fields("run"), spec: func() getopt.Spec { return runnerSpec }},
	"terraform": {options: []string{"-chdir"}, spec: func() getopt.Spec { return terraformSpec }},
	"tofu":      {options: []string{"-chdir"}, spec: func() getopt.Spec { return terraformSpec }},
}

var terraformSpec = getopt.Spec{Values: map[string]string{"-chdir": "g"}, Single: true}

// Changes are the directories that a program changes to, one from the other, before it looks at the rest of its arguments.
func Changes(name string, args []string) (dirs []string) {
	if len(args) < 2 || args[0] == "" || args[0][0] != '-' && (len(args) < 3 || args[1] == "" || args[1][0] != '-') {
		return nil // neither in front nor behind a verb
	}
	by, ok := changers[name]
	if !ok {
		return nil
	}
	return by.dirs(name, args, true)
}

// dirs are the directories that options name in front of the operands.
func (by changer) dirs(name string, args []string, verb bool) (dirs []string) {
	parsed := by.parse(name, args)
	for _, opt := range parsed.Options {
		if opt.Has && (len(parsed.Operands) == 0 || opt.Arg < parsed.Operands[0]) && slices.ContainsFunc(by.options, opt.Is) {
			dirs = append(dirs, opt.Value)
		}
	}
	if verb && len(parsed.Operands) > 0 && slices.Contains(by.verbs, args[parsed.Operands[0]]) {
		dirs = append(dirs, by.dirs(name, args[parsed.Operands[0]+1:], false)...)
	}
	return dirs
}

// parse takes arguments apart up to the first operand.
func (by changer) parse(name string, args []string) getopt.Args {
	var spec getopt.Spec
	switch p := table()[name]; {
	case by.spec != nil:
		spec = by.spec()
	case p != nil:
		spec = p.spec
	}
	spec.Stop = true
	return spec.Parse(args)
}
