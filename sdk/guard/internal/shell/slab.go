package shell

// slab hands out lists of one type that live as long as the interpreter. It takes memory for several at once.
type slab[T any] struct {
	free []T
	size int
}

// slabMost is how many values a slab takes memory for at most, unless more are asked for at once.
const slabMost = 64

// list returns an empty list with room for n values.
func (s *slab[T]) list(n int) []T {
	if len(s.free) < n {
		s.size = min(max(2*s.size, 2), slabMost)
		s.free = make([]T, max(s.size, n))
	}
	list := s.free[:0:n]
	s.free = s.free[n:]
	return list
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
