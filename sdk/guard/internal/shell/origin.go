package shell

import "slices"

// Origin tells which commands made a text of which the content isn't known. Its zero value is none.
type Origin struct{ node *origin }

// origin is one command, or what two others made together. It never changes.
type origin struct {
	name        string
	left, right *origin
}

// maxNames is how many commands an origin names at most.
const maxNames = 256

// From is the origin of what the named command makes.
func From(name string) Origin { return Origin{&origin{name: name}} }

// None says whether no command is named.
func (o Origin) None() bool { return o.node == nil }

// and is the origin of what comes from both.
func (o Origin) and(p Origin) Origin {
	switch {
	case o.node == nil:
		return p
	case p.node == nil, o.node == p.node:
		return o
	}
	return Origin{&origin{left: o.node, right: p.node}}
}

// Names are the names of the commands, each once, in the order that they ran in.
func (o Origin) Names() []string {
	var names []string
	seen := map[*origin]bool{}
	pending := []*origin{o.node}
	for len(pending) > 0 && len(names) < maxNames {
		n := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		switch {
		case n == nil:
		case n.left == nil:
			if !slices.Contains(names, n.name) {
				names = append(names, n.name)
			}
		case !seen[n]:
			seen[n] = true
			pending = append(pending, n.right, n.left)
		}
	}
	return names
}
