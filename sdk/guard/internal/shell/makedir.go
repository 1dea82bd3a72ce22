package shell

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// mkdirOptions are those with which mkdir makes what it is told all the same, by whether it makes the directories above and takes what is
// there already, too; hinders are commands after which it may not.
var (
	mkdirOptions = map[string]bool{"-p": true, "-pv": true, "-vp": true, "--parents": true, "-v": false, "--verbose": false, "--": false}
	hinders      = []string{"chmod", "chattr", "setfacl", "umask", "ulimit", "mount"}
)

// makesAndEnters says whether a list is `mkdir DIR && cd DIR`, of a directory that nothing before speaks of and that is no file. That mkdir
// fails there isn't followed, just as it isn't behind `mkdir DIR; cd DIR`.
func (in *Interpreter) makesAndEnters(c *syntax.BinaryCmd, st *state) bool {
	if st.doubt != "" || st.dir == "" || !plainList(c.X) || !plainList(c.Y) {
		return false
	}
	made, entered := plainWords(c.X), plainWords(c.Y)
	if len(made) < 2 || made[0] != "mkdir" || st.redefines("mkdir") || len(entered) != 2 || entered[0] != "cd" || st.redefines("cd") {
		return false
	}
	dir := filepath.Clean(entered[1])
	before := in.source[:min(int(c.Pos().Offset()), len(in.source))]
	in.work += len(before) / perWord
	if !filepath.IsLocal(dir) || dir == "." || strings.Contains(before, dir) {
		return false
	}
	if slices.ContainsFunc(hinders, func(command string) bool { return strings.Contains(before, command) }) {
		return false
	}
	makes, parents := false, false
	for _, word := range made[1:] {
		if strings.HasPrefix(word, "-") {
			above, known := mkdirOptions[word]
			if !known {
				return false
			}
			parents = parents || above
			continue
		}
		if word = filepath.Clean(word); !filepath.IsLocal(word) || strings.Contains(before, word) || !in.canMake(st, word, parents) {
			return false
		}
		makes = makes || word == dir || strings.HasPrefix(word, dir+"/")
	}
	return makes
}

// canMake says whether nothing is in the way of a directory, as far as one can see.
func (in *Interpreter) canMake(st *state, dir string, parents bool) bool {
	if !in.visitor.Directory(st.dir) {
		return true // nor is anything there that is known
	}
	if !parents {
		return in.visitor.Missing(st.abs(dir)) && in.visitor.Directory(st.abs(filepath.Dir(dir)))
	}
	for ; dir != "."; dir = filepath.Dir(dir) {
		if !in.visitor.Missing(st.abs(dir)) {
			return in.visitor.Directory(st.abs(dir))
		}
	}
	return true
}

// plainWords are the words of a simple command that stand for themselves; none if it has others, too.
func plainWords(s *syntax.Stmt) (words []string) {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 {
		return nil
	}
	for _, word := range call.Args {
		text := word.Lit()
		if quoted, ok := word.Parts[0].(*syntax.DblQuoted); ok && len(word.Parts) == 1 && len(quoted.Parts) == 1 {
			if lit, ok := quoted.Parts[0].(*syntax.Lit); ok {
				text = lit.Value
			}
		}
		if pattern, ok := simpleLit(text); pattern || !ok {
			return nil
		}
		words = append(words, text)
	}
	return words
}
