package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// createTemp makes a new file with a name of its own: .tmp-{pid}-{timestamp}. It is for its owner
// only until it takes the place of another file.
func createTemp(dir *os.Root) (name string, f *os.File, err error) {
	for range 100 {
		name = fmt.Sprintf(".tmp-%d-%d", os.Getpid(), time.Now().UnixNano())
		f, err = dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, newFile)
		if !errors.Is(err, fs.ErrExist) {
			return name, f, err
		}
	}
	return "", nil, fmt.Errorf("make a temporary file: %w", err)
}
