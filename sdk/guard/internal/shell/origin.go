package shell

import "slices"

// Origin tells which commands made a text of which the content isn't known. Its zero value is none.
type Origin struct {
	name string // of a single command
	both *origins
}

// origins are what made a text together, in the order that they ran in. They never change.
type origins struct{ left, right Origin }

// maxNames is how many commands an origin names at most.
const maxNames = 256

// From is the origin of what the named command makes.
func From(name string) Origin { return Origin{name: name} }

// None says whether no command is named.
func (o Origin) None() bool { return o == Origin{} }

// And is the origin of what comes from both.
func (o Origin) And(p Origin) Origin {
	switch {
	case o.None():
		return p
	case p.None(), o == p, o.both != nil && o.both.right == p:
		return o
	}
	return Origin{both: &origins{o, p}}
}

// origin is the origin of what comes from both, in the memory.
func (m *Memory) origin(o, p Origin) Origin {
	if o.None() || p.None() || o == p || o.both != nil && o.both.right == p {
		return o.And(p)
	}
	both := &m.origins.list(1)[:1][0]
	*both = origins{o, p}
	return Origin{both: both}
}

// Names are the names of the commands, each once, in the order that they ran in.
func (o Origin) Names() []string {
	var names []string
	seen := map[*origins]bool{}
	pending := []Origin{o}
	for len(pending) > 0 && len(names) < maxNames {
		o := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		switch {
		case o.both == nil:
			if o.name != "" && !slices.Contains(names, o.name) {
				names = append(names, o.name)
			}
		case !seen[o.both]:
			seen[o.both] = true
			pending = append(pending, o.both.right, o.both.left)
		}
	}
	return names
}
