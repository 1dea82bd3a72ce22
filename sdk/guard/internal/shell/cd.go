package shell

import (
	"path/filepath"
	"strings"
)

// cd changes the working directory.
func (in *Interpreter) cd(c *Call, st *state, args []string) {
	operands := skipOptions(args)
	target := ""
	switch {
	case len(operands) == 0:
		target = st.Get("HOME").String()
		if target == "" {
			target = Unknown
		}
	case operands[0] == "-":
		if target = st.oldDir; target == "" {
			target = "/" + Unknown // wherever the shell was before
		}
	default:
		target = operands[0]
	}
	cdpath, ok := c.Env["CDPATH"]
	if !ok {
		cdpath = st.Get("CDPATH").String()
	}
	if cdpath != "" && !filepath.IsAbs(target) && !strings.HasPrefix(target, ".") {
		for _, dir := range strings.Split(cdpath, ":") {
			if !in.step(&c.Place) {
				return
			}
			in.visitor.Open(&c.Place, ForEntering, Field{Text: filepath.Join(dir, target)})
		}
	}
	in.enter(c, st, target)
}

// enter makes target the working directory.
func (in *Interpreter) enter(c *Call, st *state, target string) {
	in.visitor.Open(&c.Place, ForEntering, Field{Text: target})
	st.oldDir = st.dir
	switch {
	case HasUnknown(target) || len(st.dir)+len(target) > maxDir:
		st.dir = ""
	case filepath.IsAbs(target) || st.dir != "":
		st.dir = st.abs(target)
	}
}

// pushd changes the working directory and remembers the old one.
func (in *Interpreter) pushd(c *Call, st *state, args []string) {
	operands := skipOptions(args)
	if len(operands) == 0 || strings.HasPrefix(operands[0], "+") {
		n := len(st.stack)
		if n > 0 {
			top := st.stack[n-1]
			st.stack = append(st.stack[:n-1:n-1], st.dir)
			in.enter(c, st, top)
		}
		return
	}
	st.stack = append(st.stack[:len(st.stack):len(st.stack)], st.dir)
	in.enter(c, st, operands[0])
}
