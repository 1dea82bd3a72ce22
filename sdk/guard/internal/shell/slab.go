package shell

// slab hands out values of one type that live as long as the interpreter. It takes memory for several at once.
type slab[T any] struct {
	free []T
	size int
}

const slabMost = 64

func (s *slab[T]) new() *T {
	if len(s.free) == 0 {
		s.size = min(max(2*s.size, 2), slabMost)
		s.free = make([]T, s.size)
	}
	v := &s.free[0]
	s.free = s.free[1:]
	return v
}
