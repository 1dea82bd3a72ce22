package hooks

import (
	"fmt"
	"os"
	"time"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/isolation"
)

// streams are our ends of a child's three streams.
type streams struct{ in, out, err *os.File }

// start starts a program with pipes for its streams.
func start(w where, p session.Program) (*isolation.Process, *streams, error) {
	var theirs, ours [3]*os.File
	for i := range ours {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(append(ours[:], theirs[:]...))
			return nil, nil, err
		}
		ours[i], theirs[i] = r, w
		if i == 0 {
			ours[i], theirs[i] = w, r
		}
	}
	p.Command.Stdin, p.Command.Stdout, p.Command.Stderr = theirs[0], theirs[1], theirs[2]
	process, err := w.start(p)
	closeAll(theirs[:])
	if err != nil {
		closeAll(ours[:])
		return nil, nil, fmt.Errorf("could not be started: %w", err)
	}
	return process, &streams{ours[0], ours[1], ours[2]}, nil
}

// end has reading end when the child has: where nothing ties what it has started to its end, a pipe may still be held.
func (s *streams) end() {
	for _, f := range []*os.File{s.in, s.out, s.err} {
		_ = f.SetDeadline(time.Now().Add(time.Second))
	}
}

func (s *streams) close() { closeAll([]*os.File{s.in, s.out, s.err}) }

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}
