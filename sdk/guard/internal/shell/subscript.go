package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxEvaluated is how many variables are followed that name each other in arithmetic.
const maxEvaluated = 8

// integers are the shell's own variables whose values it computes when they are set.
var integers = map[string]bool{"RANDOM": true, "SRANDOM": true, "SECONDS": true, "LINENO": true, "HISTCMD": true, "EPOCHSECONDS": true, "OPTIND": true}

// named looks at texts that the shell takes for names of variables. What stands between the brackets of a name is expanded
// once more, however it was quoted: test -v 'a[$(command)]' runs the command.
func (in *Interpreter) named(place *Place, names ...string) {
	for _, name := range names {
		if base, _, _ := strings.Cut(name, "["); base == "BASH_CMDS" || base == "BASH_ALIASES" {
			in.problem(place, Dynamic, "in "+base+" the shell keeps what its words start")
		}
		if strings.IndexByte(name, '[') > 0 && in.substitutes(name) {
			in.problem(place, Dynamic, "the shell would run the commands in the subscript of "+name)
		}
	}
}

// evaluated looks at a text that the shell computes. In there, subscripts are expanded, and so are the values of variables.
func (in *Interpreter) evaluated(place *Place, st *state, text string, depth int) {
	if text == "" || in.work > maxWork {
		return
	}
	in.work += len(text)
	if in.substitutes(text) {
		in.problem(place, Dynamic, "arithmetic would run the commands in "+text)
		return
	}
	sets := assigning(text)
	for i := 0; i < len(text) && depth < maxEvaluated; i++ {
		start := i
		for i < len(text) && nameByte(text[i], i > start) {
			i++
		}
		if i > start {
			if sets && st.Get(text[start:i]).Str != Item {
				st.set(text[start:i], Item) // whatever it comes to
			}
			switch value := content(st.Get(text[start:i])); {
			case !HasUnknown(value):
				in.evaluated(place, st, value, depth+1)
			case in.hiddenSubscript():
				in.problem(place, Dynamic, "arithmetic would run the commands in a subscript of the text, if that is the value of "+text[start:i])
			}
		}
	}
}

// comparisons are the operators with an equals sign that set nothing.
var comparisons = strings.NewReplacer("==", "", "!=", "", "<=", "", ">=", "")

// assigning says whether an expression may set variables.
func assigning(text string) bool {
	return strings.Contains(text, "++") || strings.Contains(text, "--") ||
		strings.Contains(text, "=") && (strings.Contains(text, "<<=") || strings.Contains(text, ">>=") || strings.Contains(comparisons.Replace(text), "="))
}

func nameByte(c byte, further bool) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || further && c >= '0' && c <= '9'
}

// substitutes says whether a text, expanded as between double quotes, would run commands.
func (in *Interpreter) substitutes(text string) bool {
	if !strings.ContainsAny(text, "`$") || HasUnknown(text) {
		return false
	}
	word, err := in.parser.Document(strings.NewReader(text))
	if err != nil {
		return strings.Contains(text, "$(") || strings.Contains(text, "`")
	}
	runs := false
	syntax.Walk(word, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			runs = true
		case *syntax.ParamExp:
			runs = runs || n.Exp != nil && n.Exp.Op == syntax.OtherParamOps
		}
		return !runs
	})
	return runs
}

// declared looks at the arguments of a declaration that is given as words: name, name=value, name[subscript]=value.
func (in *Interpreter) declared(place *Place, st *state, word string, integer, reference bool) {
	name, value, _ := strings.Cut(word, "=")
	in.named(place, name)
	if strings.Contains(name, "[") {
		st.set(name, Unknown)
	}
	switch {
	case integer:
		in.evaluated(place, st, value, 0)
		set(in, &st.integers, strings.TrimSuffix(name, "+"), true)
	case reference:
		in.named(place, value)
		if target, _, _ := strings.Cut(value, "["); syntax.ValidName(target) {
			in.refer(place, name, target)
			if target != value {
				in.refer(place, name, name) // of an element, which isn't what the whole one stands for
			}
		}
	}
}

// maxReferences is how many other names of variables are followed.
const maxReferences = 64

// refer notes that one variable is another name of a second one.
func (in *Interpreter) refer(place *Place, name, target string) {
	switch {
	case in.references == nil:
		in.references = map[string][]string{}
	case len(in.references)+len(in.references[name]) > maxReferences:
		in.problem(place, TooComplex, "too many other names of variables to follow")
		return
	}
	if !slices.Contains(in.references[name], target) {
		in.references[name] = append(in.references[name], target)
	}
}

// circular says whether the names that a variable is another name of lead back to one of them.
func (in *Interpreter) circular(name string) bool {
	for range maxEvaluated {
		refers := in.references[name]
		if len(refers) != 1 {
			return false
		}
		name = refers[0]
	}
	return true
}

// quotedInArithmetic is the text of a word in arithmetic that is quoted, which the quotes don't keep from being computed.
func quotedInArithmetic(word *syntax.Word) string {
	var text strings.Builder
	for _, part := range word.Parts {
		switch p := part.(type) {
		case *syntax.SglQuoted:
			text.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				if lit, ok := inner.(*syntax.Lit); ok {
					text.WriteString(strings.ReplaceAll(lit.Value, `\`, ""))
				}
			}
		}
	}
	return text.String()
}
