package shell

import (
	"slices"

	"mvdan.cc/sh/v3/expand"
)

// after follows what a trap would run after a statement: it may at any time, with the variables as they are then. So do jobs.
func (in *Interpreter) after(states []*state) {
	for _, st := range states {
		if len(in.jobs) > 0 {
			in.besides(st)
		}
		if st.trap == "" {
			continue
		}
		if st.dead && in.branches == 0 {
			in.ends([]*state{st})
			continue
		}
		if st.dead {
			// It ends here on one way only; what the trap names may be made on the others.
			in.later++
			in.ends([]*state{st})
			in.later--
			continue
		}
		if st.trapped != nil && in.alike(st.trapped, st) {
			continue // it would do the same as the last time
		}
		in.later++
		r, repeatable := in.record(st, func(st *state) ([]*state, Stream) { in.runTrap(st); return nil, Stream{} })
		in.later--
		if st.trapped = nil; repeatable && !in.singly {
			r.reads = slices.Clone(r.reads)
			st.trapped = &r
		}
	}
}

// ends follows what traps run when the shell of the states ends.
func (in *Interpreter) ends(states []*state) {
	for _, st := range states {
		if st.trap != "" {
			in.runTrap(st)
		}
	}
}

// maxTraps is how deep traps that set traps are followed.
const maxTraps = 4

func (in *Interpreter) runTrap(st *state) {
	place := &Place{Dir: st.dir, Doubt: st.doubt, Span: in.span}
	if in.traps == maxTraps {
		in.problem(place, TooComplex, "traps that set traps, too deep to follow")
		return
	}
	in.traps++
	inner := st.clone()
	inner.trap, inner.dead, inner.printer = "", false, nil
	states, _ := in.code(place, st.trap, inner, Stream{})
	in.ends(states)
	in.traps--
}

// interrupts notes the variables that a trap may set at any time, and not only when the shell ends.
func (in *Interpreter) interrupts(c *Call, st *state, code string, signals []string) {
	if !slices.ContainsFunc(signals, func(signal string) bool { return signal != "EXIT" && signal != "0" && signal != "SIGEXIT" }) {
		return
	}
	inner := st.clone()
	inner.trap, inner.printer = "", nil
	in.later++
	states, _ := in.code(&c.Place, code, inner, Stream{})
	in.later--
	for _, after := range states {
		if after.dead {
			continue // the shell ends there
		}
		changes(in, after.vars, st.vars, func(now, before *entry[expand.Variable]) bool {
			if in.volatile == nil {
				in.volatile = map[string]bool{}
			}
			in.volatile[either(now, before).key] = true
			return true
		})
	}
}
