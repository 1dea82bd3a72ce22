package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// shopt notes the options of bash's that are named among words, by which it does other things with what follows.
func (in *Interpreter) shopt(words []string) {
	in.lastpipe = in.lastpipe || slices.Contains(words, "lastpipe")
	in.cdable = in.cdable || slices.Contains(words, "cdable_vars")
	in.nocase = in.nocase || slices.Contains(words, "nocasematch")
	in.escapes = in.escapes || slices.Contains(words, "xpg_echo")
}

// setOptions finds options that make something else of the lines that follow than what stands there: of the history, and assignments
// anywhere among words.
func (in *Interpreter) setOptions(place *Place, args []string) {
	for i, arg := range args {
		letters := strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--")
		switch {
		case arg == "--":
			return
		case arg == "histexpand" || letters && strings.Contains(arg, "H"):
			in.problem(place, Dynamic, "with the expansion of its history the shell makes other lines of those that follow")
		case arg == "keyword" || letters && strings.Contains(arg, "k"):
			in.problem(place, Dynamic, "with set -k the words of a command may be its environment")
		case !letters && !strings.HasPrefix(arg, "+") && (i == 0 || !strings.HasSuffix(args[i-1], "o")) && arg != "history":
			return // parameters
		}
	}
}

// compound makes an array of what is assigned by a declaration of one as a text between brackets: bash reads that as the words of an array.
func (s *state) compound(name, value string, array bool) {
	switch kind := s.vars.kind(s.in, name); {
	case !strings.HasPrefix(value, "(") || !array && !isList(kind):
	case kind.Kind == expand.Associative:
		set(s.in, &s.vars, name, expand.Variable{Set: true, Kind: expand.String, Str: Unknown})
	default:
		set(s.in, &s.vars, name, expand.Variable{Set: true, Kind: expand.Indexed, List: []string{Unknown}})
	}
}

// repeats says whether what a match is replaced by may hold the match again, as & in it does.
func (x *expansion) repeats(with *syntax.Word) bool {
	if with == nil {
		return false
	}
	x = x.in.expansion(x.state.clone(), x.place) // it is expanded once more where it is put in
	defer x.in.expansions.put(x)
	for _, part := range with.Parts {
		if _, quoted := part.(*syntax.SglQuoted); quoted {
			continue
		}
		if lit, ok := part.(*syntax.Lit); ok && !strings.Contains(lit.Value, "&") {
			continue
		}
		if text := x.one(&syntax.Word{Parts: []syntax.WordPart{part}}); strings.Contains(text, "&") {
			return true
		}
	}
	return false
}

// substitutesInSubscript says whether a text has a substitution between the brackets of an element, though not an arithmetic one.
func substitutesInSubscript(text string) bool {
	for {
		before, after, found := strings.Cut(text, "[")
		if !found {
			return false
		}
		rest := strings.TrimLeft(after, " \t\r\n\f")
		if before != "" && nameByte(before[len(before)-1], true) &&
			(strings.HasPrefix(rest, "`") || strings.HasPrefix(rest, "$(") && !strings.HasPrefix(rest, "$((")) {
			return true
		}
		text = after
	}
}

// hiddenSubscript says whether the text may give a variable an element for a value whose subscript has commands.
func (in *Interpreter) hiddenSubscript() bool {
	for _, text := range []string{in.top, in.source} {
		found, known := in.subscripts[text]
		if !known {
			if in.subscripts == nil {
				in.subscripts = map[string]bool{}
			}
			in.work += len(text)
			found = substitutesInSubscript(text)
			in.subscripts[text] = found
		}
		if found {
			return true
		}
	}
	return false
}

// printed is a function as the shell prints it, but for blanks.
func (in *Interpreter) printed(name string, body *syntax.Stmt) string {
	var b strings.Builder
	b.WriteString(name + " () ")
	if syntax.NewPrinter().Print(&b, body) != nil || b.Len() > maxValue {
		return Unknown
	}
	in.work += b.Len()
	return b.String() + "\n"
}
