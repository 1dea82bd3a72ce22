package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// chosen is an assignment of what one of several commands prints, as x=$([ -f a ] && echo b || echo c) is, as the list or condition in which each
// of them is assigned by itself: so it is known what the variable may be. It is nil for any other statement.
func chosen(s *syntax.Stmt, c *syntax.CallExpr, st *state) *syntax.Stmt {
	if len(c.Args) > 0 || len(c.Assigns) != 1 || len(s.Redirs) > 0 {
		return nil
	}
	a := c.Assigns[0]
	if a.Name == nil || a.Append || a.Naked || a.Index != nil || a.Array != nil || a.Value == nil || len(a.Value.Parts) != 1 {
		return nil
	}
	part := a.Value.Parts[0]
	if quoted, ok := part.(*syntax.DblQuoted); ok && len(quoted.Parts) == 1 {
		part = quoted.Parts[0]
	}
	printed, ok := part.(*syntax.CmdSubst)
	if !ok || len(printed.Stmts) != 1 {
		return nil
	}
	set := func(value *syntax.Stmt) *syntax.Stmt {
		word := &syntax.Word{Parts: []syntax.WordPart{&syntax.CmdSubst{Left: printed.Left, Right: printed.Right, Stmts: []*syntax.Stmt{value}}}}
		assign := *a
		assign.Value = word
		return &syntax.Stmt{Position: s.Position, Cmd: &syntax.CallExpr{Assigns: []*syntax.Assign{&assign}}}
	}
	of := printed.Stmts[0]
	if body := bodyOf(of, st); body != nil {
		of = body
	}
	switch cmd := of.Cmd.(type) {
	case *syntax.CaseClause:
		if clause := chosenCase(cmd, set); clause != nil && plainList(of) {
			return &syntax.Stmt{Position: s.Position, Cmd: clause}
		}
	case *syntax.BinaryCmd:
		if cmd.Op != syntax.OrStmt || !plainList(of) || !prints(cmd.Y) && !looksUp(cmd.Y) {
			return nil
		}
		first := cmd.X
		if and, ok := first.Cmd.(*syntax.BinaryCmd); ok && and.Op == syntax.AndStmt && plainList(first) && silent(and.X, st) && prints(and.Y) {
			first = &syntax.Stmt{Position: first.Position, Cmd: &syntax.BinaryCmd{OpPos: and.OpPos, Op: and.Op, X: and.X, Y: set(and.Y)}}
		} else if looksUp(first) {
			first = set(first)
		} else {
			return nil
		}
		return &syntax.Stmt{Position: s.Position, Cmd: &syntax.BinaryCmd{OpPos: cmd.OpPos, Op: cmd.Op, X: first, Y: set(cmd.Y)}}
	case *syntax.IfClause:
		if clause := chosenBranch(cmd, st, set); clause != nil && plainList(of) {
			return &syntax.Stmt{Position: s.Position, Cmd: clause}
		}
	}
	return nil
}

// chosenBranch is a conditional in each branch of which a command prints something, with that assigned there; nil for any other one.
func chosenBranch(c *syntax.IfClause, st *state, set func(*syntax.Stmt) *syntax.Stmt) *syntax.IfClause {
	if len(c.Then) != 1 || !prints(c.Then[0]) || slices.ContainsFunc(c.Cond, func(s *syntax.Stmt) bool { return !silent(s, st) }) {
		return nil
	}
	branch := *c
	branch.Then = []*syntax.Stmt{set(c.Then[0])}
	if len(c.Cond) == 0 {
		return &branch // else
	}
	if c.Else == nil {
		return nil
	}
	if branch.Else = chosenBranch(c.Else, st, set); branch.Else == nil {
		return nil
	}
	return &branch
}

// chosenCase is the same of a case clause, of whose branches one is always taken.
func chosenCase(c *syntax.CaseClause, set func(*syntax.Stmt) *syntax.Stmt) *syntax.CaseClause {
	clause := *c
	clause.Items = nil
	always := false
	for _, item := range c.Items {
		if len(item.Stmts) != 1 || !prints(item.Stmts[0]) || item.Op != syntax.Break {
			return nil
		}
		branch := *item
		branch.Stmts = []*syntax.Stmt{set(item.Stmts[0])}
		clause.Items = append(clause.Items, &branch)
		always = always || slices.ContainsFunc(item.Patterns, func(p *syntax.Word) bool { return p.Lit() == "*" })
	}
	if !always {
		return nil
	}
	return &clause
}

// bodyOf is the one statement of a function that is called without arguments, and uses none; nil for any other statement.
func bodyOf(s *syntax.Stmt, st *state) *syntax.Stmt {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) != 1 || !plainList(s) || word(s) == "" {
		return nil
	}
	if _, may := st.outer.get(st.in, word(s)); may {
		return nil
	}
	if _, alias := st.aliases.get(st.in, word(s)); alias {
		return nil
	}
	body, ok := st.funcs.get(st.in, word(s))
	if !ok || !plainList(body) {
		return nil
	}
	block, ok := body.Cmd.(*syntax.Block)
	if !ok || len(block.Stmts) != 1 {
		return nil
	}
	plain := true
	syntax.Walk(block, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ParamExp:
			plain = plain && n.Param != nil && syntax.ValidName(n.Param.Value) && n.Param.Value != "FUNCNAME"
		case *syntax.DeclClause, *syntax.FuncDecl:
			plain = false
		case *syntax.CallExpr:
			plain = plain && (len(n.Args) == 0 || n.Args[0].Lit() != "shift" && n.Args[0].Lit() != "set" && n.Args[0].Lit() != "return")
		}
		return plain
	})
	if !plain {
		return nil
	}
	return block.Stmts[0]
}

// word is the first word of a simple command that assigns nothing; "" if it isn't one, or isn't known.
func word(s *syntax.Stmt) string {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || s.Background || s.Coprocess || s.Disown || len(call.Assigns) > 0 || len(call.Args) == 0 {
		return ""
	}
	return call.Args[0].Lit()
}

// prints says whether a statement is echo or printf, as it stands.
func prints(s *syntax.Stmt) bool {
	name := word(s)
	return (name == "echo" || name == "printf") && plainList(s)
}

// silent says whether a statement prints nothing and changes nothing.
func silent(s *syntax.Stmt, st *state) bool {
	if _, ok := s.Cmd.(*syntax.TestClause); ok {
		return len(s.Redirs) == 0
	}
	name := word(s)
	if st.redefines(name) {
		return false
	}
	switch name {
	case "[", "test", "true", "false":
		return len(s.Redirs) == 0
	case "command", "type", "hash", "which":
		return slices.ContainsFunc(s.Redirs, func(r *syntax.Redirect) bool {
			return (r.Op == syntax.RdrOut && r.N == nil || r.Op == syntax.RdrAll) && r.Word.Lit() == "/dev/null"
		})
	}
	return false
}

// looksUp says whether a statement prints where a program is.
func looksUp(s *syntax.Stmt) bool {
	call, ok := s.Cmd.(*syntax.CallExpr)
	return ok && !s.Negated && len(call.Args) == 3 && word(s) == "command" && call.Args[1].Lit() == "-v" &&
		!slices.ContainsFunc(s.Redirs, func(r *syntax.Redirect) bool { return r.N == nil || r.N.Value != "2" })
}
