package cli

import (
	"io"
	"os"
	"sync"
)

// results is standard output, which remembers whether something could not be written: a result that is lost, on a full
// disk for example, is a failure whoever wrote it.
type results struct {
	*os.File

	mu  sync.Mutex
	err error // the first
}

// NewResults returns the stream as what it is if it is no file.
func NewResults(stdout io.Writer) io.Writer {
	if f, ok := stdout.(*os.File); ok {
		return &results{File: f}
	}
	return stdout
}

func (r *results) Write(data []byte) (int, error) {
	n, err := r.File.Write(data)
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.err == nil {
			r.err = err
		}
	}
	return n, err
}

// WriteError is why a result could not be written; nil if all were.
func WriteError(stdout io.Writer) error {
	r, ok := stdout.(*results)
	if !ok {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}
