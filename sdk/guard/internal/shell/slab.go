package shell

// slab hands out lists of one type, which all live until it is reset. It takes memory for several at once.
type slab[T any] struct {
	free   []T   // of the newest block in use
	blocks [][]T // the first of them in use
	used   int
}

const (
	slabLeast = 8    // values of the first block; each further one has twice as many
	slabSteps = 3    // until they are as large as blocks get, unless more are asked for at once
	slabKept  = 2048 // values that it keeps when it is reset
)

// list returns an empty list with room for n values.
func (s *slab[T]) list(n int) []T {
	for len(s.free) < n {
		if s.used == len(s.blocks) {
			s.blocks = append(s.blocks, make([]T, max(slabLeast<<min(s.used, slabSteps), n)))
		}
		s.free = s.blocks[s.used]
		s.used++
	}
	list := s.free[:0:n]
	s.free = s.free[n:]
	return list
}

// reset takes back all lists.
func (s *slab[T]) reset() {
	kept := 0
	for i, block := range s.blocks {
		if kept += len(block); kept > slabKept {
			s.blocks = s.blocks[:i:i]
			break
		}
		if i < s.used {
			clear(block)
		}
	}
	s.free, s.used = nil, 0
}

// spares hands out values of one type to those who give them back, so that few are needed.
type spares[T any] struct{ free []*T }

// get returns a value that may hold anything.
func (s *spares[T]) get() *T {
	n := len(s.free)
	if n == 0 {
		return new(T)
	}
	v := s.free[n-1]
	s.free = s.free[:n-1]
	return v
}

// put takes back a value that nobody uses any more.
func (s *spares[T]) put(v *T) { s.free = append(s.free, v) }

// reset clears the values.
func (s *spares[T]) reset() {
	for _, v := range s.free {
		*v = *new(T)
	}
}

// tables is where tables of one type come from, and what they consist of.
type tables[V any] struct {
	tables   slab[table[V]]
	branches slab[branch[V]]
	entries  slab[entry[V]]
}

func (t *tables[V]) reset() {
	t.tables.reset()
	t.branches.reset()
	t.entries.reset()
}

// tablesOf is where tables with values of type V come from; nil if only the heap has them.
func tablesOf[V any](in *Interpreter) *tables[V] {
	if t, ok := any(&in.variables).(*tables[V]); ok {
		return t
	}
	t, _ := any(&in.written).(*tables[V])
	return t
}

// newTable is an empty table with room for branches.
func newTable[V any](in *Interpreter, branches int) *table[V] {
	from := tablesOf[V](in)
	if from == nil {
		return &table[V]{kids: make([]branch[V], 0, branches)}
	}
	t := &from.tables.list(1)[:1][0]
	t.kids = from.branches.list(branches)
	return t
}

func newEntry[V any](in *Interpreter) *entry[V] {
	if from := tablesOf[V](in); from != nil {
		return &from.entries.list(1)[:1][0]
	}
	return new(entry[V])
}
