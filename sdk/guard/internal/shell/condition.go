package shell

import (
	"slices"
	"strconv"

	"mvdan.cc/sh/v3/syntax"
)

// simpleCondition says whether a condition is one simple command, which may be negated.
func simpleCondition(list []*syntax.Stmt) bool {
	if len(list) != 1 || list[0].Background || list[0].Coprocess || list[0].Disown {
		return false
	}
	_, ok := list[0].Cmd.(*syntax.CallExpr)
	return ok
}

// hasArguments says whether a condition holds that asks for arguments, [ $# -gt 0 ], and whether that is known. That of any other
// condition isn't.
func hasArguments(condition []*syntax.Stmt, st *state) (holds, known bool) {
	if len(condition) != 1 || !plainList(condition[0]) || st.redefines("[") {
		return false, false
	}
	call, ok := condition[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) != 5 || call.Args[0].Lit() != "[" || call.Args[2].Lit() != "-gt" || len(call.Args[1].Parts) != 1 {
		return false, false
	}
	number := call.Args[1].Parts[0]
	if quoted, ok := number.(*syntax.DblQuoted); ok && len(quoted.Parts) == 1 {
		number = quoted.Parts[0]
	}
	count, ok := number.(*syntax.ParamExp)
	least, err := strconv.Atoi(call.Args[3].Lit())
	if !ok || err != nil || count.Param == nil || count.Param.Value != "#" || !count.Short {
		return false, false
	}
	n := st.count()
	return n > least, n >= 0
}

// noOptions says whether a condition asks for the next option, getopts SPECIFICATION NAME, where there are no arguments.
func noOptions(condition []*syntax.Stmt, st *state) bool {
	if len(condition) != 1 || !plainList(condition[0]) || word(condition[0]) != "getopts" || st.redefines("getopts") {
		return false
	}
	call, ok := condition[0].Cmd.(*syntax.CallExpr)
	return ok && len(call.Args) == 3 && call.Args[1].Lit()+call.Args[2].Lit() != "" && !hasExpansion(call.Args) && st.count() == 0
}

// hasExpansion says whether words may be more than they seem.
func hasExpansion(words []*syntax.Word) bool {
	return slices.ContainsFunc(words, func(word *syntax.Word) bool {
		quoted, ok := word.Parts[0].(*syntax.SglQuoted)
		return len(word.Parts) != 1 || word.Lit() == "" && (!ok || quoted.Dollar)
	})
}
