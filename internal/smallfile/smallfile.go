// Package smallfile reads regular files up to a size limit, even if other users can replace them. It must not know
// their contents.
package smallfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"

	"github.com/picoclaw/picoclaw/internal/filelock"
)

// ErrLarger is the error for a file above the size limit.
var ErrLarger = errors.New("it is larger")

// Read reads a regular file, limited to most bytes.
func Read(path string, most int64) ([]byte, error) {
	data, _, err := ReadWithInfo(path, most)
	return data, err
}

// ReadWithInfo is Read and also returns the file information.
func ReadWithInfo(path string, most int64) ([]byte, fs.FileInfo, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|filelock.NonBlock, 0) // a FIFO must not block
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("it is not a regular file")}
	}
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%w than %d bytes", ErrLarger, most)
	}
	return data, info, err
}

// ReadPrivate is Read for a file with a secret. It fails if other users can access the file; advice is added to that
// error.
func ReadPrivate(path string, most int64, advice string) ([]byte, error) {
	data, info, err := ReadWithInfo(path, most)
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		err = fmt.Errorf("other users can read it (mode %04o), and it contains a secret; run `chmod 600 %s`, and %s",
			info.Mode().Perm(), path, advice)
	}
	return data, err
}
