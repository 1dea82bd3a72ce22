package workspace

import "errors"

// FileError says which of several files a change failed with. It adds nothing to the message.
type FileError struct {
	Path string // as the caller wrote it
	Err  error
}

func (e *FileError) Error() string { return e.Err.Error() }

func (e *FileError) Unwrap() error { return e.Err }

// of says that an error is about a file, unless it says so already.
func of(path string, err error) error {
	var about *FileError
	if errors.As(err, &about) {
		return err
	}
	return &FileError{path, err}
}
