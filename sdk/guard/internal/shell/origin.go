package shell

import "slices"

// Origin tells which commands made a text of which the content isn't known. Its zero value is none.
type Origin struct {
	name string // of a single command
	all  *origins
}

// origins are what made a text together, each once, in the order that they ran in. They never change.
type origins struct{ names []string }

// maxNames is how many commands an origin names at most.
const maxNames = 256

// From is the origin of what the named command makes.
func From(name string) Origin { return Origin{name: name} }

// None says whether no command is named.
func (o Origin) None() bool { return o == Origin{} }

// And is the origin of what comes from both.
func (o Origin) And(p Origin) Origin { return o.and(p, func() *origins { return &origins{} }) }

// origin is the origin of what comes from both, in the memory.
func (m *Memory) origin(o, p Origin) Origin {
	return o.and(p, func() *origins { return &m.origins.list(1)[:1][0] })
}

func (o Origin) and(p Origin, place func() *origins) Origin {
	switch {
	case o.None():
		return p
	case p.None() || o == p:
		return o
	}
	var names []string
	for i := range p.count() {
		if name := p.at(i); !o.has(name) {
			if names == nil {
				names = o.Names()
				names = names[:len(names):len(names)]
			}
			if len(names) < maxNames {
				names = append(names, name)
			}
		}
	}
	if names == nil {
		return o
	}
	all := place()
	all.names = names
	return Origin{all: all}
}

func (o Origin) count() int {
	if o.all == nil {
		return 1
	}
	return len(o.all.names)
}

func (o Origin) at(i int) string {
	if o.all == nil {
		return o.name
	}
	return o.all.names[i]
}

func (o Origin) has(name string) bool {
	if o.all == nil {
		return o.name == name
	}
	return slices.Contains(o.all.names, name)
}

// Names are the names of the commands, each once, in the order that they ran in. They must not be changed.
func (o Origin) Names() []string {
	switch {
	case o.None():
		return nil
	case o.all == nil:
		return []string{o.name}
	}
	return o.all.names
}
