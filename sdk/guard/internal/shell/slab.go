package shell

// slab hands out values of one type that live as long as the interpreter. It takes memory for several at once.
type slab[T any] struct {
	free []T
	size int
}

// slabMost is how many values a slab takes memory for at most, unless more are asked for at once.
const slabMost = 64

func (s *slab[T]) new() *T { return &s.list(1)[:1][0] }

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
