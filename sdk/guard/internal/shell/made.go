package shell

import (
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// mentioned says whether a command before a place may have made a directory: its name stands among its words, or came there by an
// expansion.
func (in *Interpreter) mentioned(at Span, dir string) bool {
	name := filepath.Base(dir)
	if in.made[name] || strings.ContainsAny(name, "*?[") {
		return true // what matches a pattern is there
	}
	before := in.top[:min(at.Start, len(in.top))]
	if in.depth > 1 {
		before = in.top[:min(at.End, len(in.top))] // the place is that of the code, not in it
	}
	for range maxMentions {
		in.work += len(before) / perWord
		found := strings.LastIndex(before, name)
		if found < 0 {
			return false
		}
		words, behind := before[strings.LastIndexAny(before[:found], ";\n&|(){}")+1:found], before[found:]
		if end := strings.IndexAny(behind, ";\n&|"); end >= 0 {
			behind = behind[:end]
		}
		in.work += len(words) + len(behind)
		if removes(command(words), words, behind, name) {
			return false
		}
		list := strings.HasSuffix(before[:found-len(words)], "=(") // of an array
		if !list && !idle(words) || strings.Contains(words+behind, ">") {
			return true
		}
		before = before[:found]
	}
	return true
}

// removes says whether a command with a name among its words takes the directory of that name away.
func removes(first, words, behind, name string) bool {
	rest, exact := strings.CutPrefix(strings.TrimPrefix(behind[len(name):], "/"), " ")
	switch exact = exact || strings.TrimSpace(rest) == ""; first {
	case "rmdir":
		return exact
	case "rm":
		return exact && (strings.Contains(words, " -d") || strings.Contains(words, " -r") || strings.Contains(words, " -R"))
	case "mv":
		return exact && strings.TrimSpace(rest) != ""
	}
	return false
}

// maxMentions is how many places of a name are looked at.
const maxMentions = 64

// idlers are commands that make no directories of the words that they get.
var idlers = map[string]bool{"cd": true, "pushd": true, "popd": true, "for": true, "select": true, "case": true, "echo": true, "printf": true, "ls": true, "cat": true, "test": true, "[": true, "[[": true,
	"grep": true, "wc": true, "head": true, "tail": true, "stat": true, "export": true, "local": true, "declare": true, "typeset": true, "readonly": true, "set": true, ":": true, "true": true, "false": true, "read": true,
	"unset": true, "alias": true, "unalias": true, "rm": true, "rmdir": true, "unlink": true, "trap": true, "kill": true, "wait": true, "touch": true, "chmod": true, "sleep": true, "diff": true, "cmp": true}

// reserved are the words that a command may stand behind.
var reserved = map[string]bool{"do": true, "then": true, "else": true, "elif": true, "if": true, "while": true, "until": true, "!": true, "time": true}

// idle says whether a word behind others makes no directory: it is assigned to a variable, or a word of a command that makes none, or one
// itself.
func idle(words string) bool {
	if last := words[strings.LastIndexAny(words, " \t")+1:]; assigns(last) {
		return true
	}
	if quote := strings.LastIndexAny(words, "'\""); quote >= 0 && idlers[command(words[quote+1:])] {
		return true // in code for another shell
	}
	first := command(words)
	return first == "" || idlers[first]
}

// command is the first word that is none of the shell's own; "" if there is none.
func command(words string) string {
	for {
		var first string
		first, words, _ = strings.Cut(strings.TrimLeft(words, " \t"), " ")
		if !reserved[first] {
			return first
		}
	}
}

// assigns says whether a word begins with what sets a variable.
func assigns(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && syntax.ValidName(strings.TrimSuffix(name, "+"))
}

// maxMade is how many words of a command are looked at for directories that it may make.
const maxMade = 16

// makes remembers the words that a command got by expansions, which may be directories that it makes.
func (in *Interpreter) makes(c *Call) {
	if idlers[c.Argv[0].Text] {
		return
	}
	own := within(in.source, c.node)
	expands := in.depth > 1 || strings.ContainsAny(own, "$`")
	for _, f := range c.Argv[1:min(len(c.Argv), maxMade)] {
		if name := filepath.Base(f.Text); expands || !strings.Contains(own, name) {
			if in.made == nil {
				in.made = map[string]bool{}
			}
			in.made[name] = true
		}
	}
}
