package shell

import (
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// arithm evaluates an arithmetic expression for its assignments.
func (x *expansion) arithm(expr syntax.ArithmExpr) {
	if expr == nil {
		return
	}
	if !x.arithmUnknown(expr) {
		if _, err := expand.Arithm(x.config(), expr); err == nil {
			return
		}
	}
	x.forget(expr)
}

// forget is called where a node assigns variables that aren't known from there on.
func (x *expansion) forget(node syntax.Node) {
	syntax.Walk(node, func(n syntax.Node) bool {
		if lit, ok := n.(*syntax.Lit); ok && syntax.ValidName(lit.Value) {
			x.state.set(lit.Value, Unknown, nil)
		}
		return true
	})
}

// arithmUnknown reports whether the value of an arithmetic expression isn't known. It also looks for values that bash
// would evaluate once more: `a[$(command)]` in a variable runs the command.
func (x *expansion) arithmUnknown(expr syntax.ArithmExpr) bool {
	if expr == nil {
		return false
	}
	unknown := false
	syntax.Walk(expr, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			unknown = true
		case *syntax.ParamExp:
			unknown = x.arithmName(n.Param.Value) || unknown
		case *syntax.Lit:
			if syntax.ValidName(n.Value) {
				unknown = x.arithmName(n.Value) || unknown
			}
		}
		return true
	})
	if unknown {
		x.substitutions(expr)
	}
	return unknown
}

func (x *expansion) arithmName(name string) bool {
	v := x.state.Get(name)
	value := v.String()
	x.in.evaluated(x.place, value, x.state)
	return HasUnknown(value) || v.Kind != 0 && len(v.List) > 0 && HasUnknown(strings.Join(v.List, ""))
}
