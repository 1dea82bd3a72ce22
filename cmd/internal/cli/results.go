package cli

import (
	"io"
	"os"
	"sync"
)

// resultWriter is standard output that remembers the first write error, so that a lost result makes the command fail.
type resultWriter struct {
	*os.File

	mu  sync.Mutex
	err error // the first
}

// NewResultWriter wraps stdout in a resultWriter. It returns stdout unchanged if stdout is no file.
func NewResultWriter(stdout io.Writer) io.Writer {
	if f, ok := stdout.(*os.File); ok {
		return &resultWriter{File: f}
	}
	return stdout
}

func (r *resultWriter) Write(data []byte) (int, error) {
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

// ResultWriteError returns the first error of writing results to stdout; nil if all were written.
func ResultWriteError(stdout io.Writer) error {
	r, ok := stdout.(*resultWriter)
	if !ok {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}
