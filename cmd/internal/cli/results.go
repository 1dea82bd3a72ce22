package cli

import (
	"io"
	"os"
	"sync"
)

// firstErrorWriter is standard output that remembers the first write error. So a lost result makes the command fail.
type firstErrorWriter struct {
	*os.File

	mu  sync.Mutex
	err error // the first
}

// NewFirstErrorWriter wraps stdout in a firstErrorWriter. It returns stdout unchanged if stdout is no file.
func NewFirstErrorWriter(stdout io.Writer) io.Writer {
	if f, ok := stdout.(*os.File); ok {
		return &firstErrorWriter{File: f}
	}
	return stdout
}

func (r *firstErrorWriter) Write(data []byte) (int, error) {
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

// FirstWriteError returns the first error of writing results to stdout; nil if all were written.
func FirstWriteError(stdout io.Writer) error {
	r, ok := stdout.(*firstErrorWriter)
	if !ok {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}
