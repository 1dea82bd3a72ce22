package hooks

import "os"

// pipes are a child's three streams.
type pipes struct {
	ours, theirs [3]*os.File // standard input, output and error
}

func newPipes() (*pipes, error) {
	p := &pipes{}
	for i := range p.ours {
		r, w, err := os.Pipe()
		if err != nil {
			p.close()
			return nil, err
		}
		p.ours[i], p.theirs[i] = r, w
		if i == 0 {
			p.ours[i], p.theirs[i] = w, r
		}
	}
	return p, nil
}

// started closes the child's ends, which it has now.
func (p *pipes) started() {
	for _, f := range p.theirs {
		_ = f.Close()
	}
}

func (p *pipes) close() {
	for _, f := range append(p.ours[:], p.theirs[:]...) {
		if f != nil {
			_ = f.Close()
		}
	}
}
