package shell

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
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
		target = st.before()
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
				break
			}
			in.visitor.Open(&c.Place, ForEntering, Field{Text: filepath.Join(dir, target)})
		}
	}
	if in.cdable && syntax.ValidName(target) {
		if v := st.Get(target); v.IsSet() {
			target = v.String()
		}
	}
	before := st.dir
	if in.enter(c, st, target); st.doubt == "" && (len(operands) > 1 || !slices.ContainsFunc(args, func(arg string) bool { return arg == "--" }) && oddOption(args)) {
		st.doubt = before // it is an error
	}
}

// oddOption says whether one of the options of cd is none.
func oddOption(args []string) bool {
	for _, arg := range args {
		if len(arg) < 2 || arg[0] != '-' {
			return false
		}
		if strings.Trim(arg[1:], "LPe@") != "" {
			return true
		}
	}
	return false
}

// enter makes target the working directory.
func (in *Interpreter) enter(c *Call, st *state, target string) {
	in.visitor.Open(&c.Place, ForEntering, Field{Text: target})
	before := st.dir
	if st.leave(before); st.doubt != "" {
		st.leave("/" + Unknown)
	}
	switch {
	case HasUnknown(target):
		st.dir, st.doubt = "", ""
		return
	case filepath.IsAbs(target) || st.dir != "":
		st.dir = st.abs(target)
		st.adrift = st.adrift && !filepath.IsAbs(target)
	}
	switch {
	case len(st.dir) > maxDir:
		st.dir, st.doubt = "", "" // the kernel would resolve it step by step; here that takes too long
	case st.doubt != "" && !filepath.IsAbs(target):
		st.doubt = filepath.Join(st.doubt, target)
	case before != "" && !st.strict && in.visitor.Missing(st.dir) && !in.mentioned(c.Span, target):
		st.doubt = before
	default:
		st.doubt = ""
	}
}

// step makes a directory the working directory, the way the kernel does: "link/.." is where the link leads to, and up from there.
func (s *state) step(dir string) {
	below := func(from string) string {
		switch {
		case HasUnknown(dir), from == "" && !filepath.IsAbs(dir), len(from)+len(dir) > maxDir:
			return ""
		case filepath.IsAbs(dir):
			return dir
		}
		return from + "/" + dir
	}
	if s.doubt != "" {
		s.doubt = below(s.doubt)
	}
	s.dir = below(s.dir)
}

// pushd changes the working directory and remembers the old one.
func (in *Interpreter) pushd(c *Call, st *state, args []string) {
	in.work += len(st.stack) * perWord
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

// leave notes where the shell has been before it went elsewhere.
func (s *state) leave(dir string) {
	s.oldDir = &append(s.in.texts.list(1), dir)[0]
}

// before is where the shell was before: somewhere, if it was nowhere else since the text began.
func (s *state) before() string {
	s.in.lookedAt(s.oldDir)
	if s.oldDir == nil || *s.oldDir == "" {
		return "/" + Unknown
	}
	return *s.oldDir
}
