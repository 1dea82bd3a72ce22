package audit

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
)

// FollowLatest is like [Follow], but begins so many bytes before the end of the current file, with the first whole line
// there: what it takes does not grow with the log.
func FollowLatest(ctx context.Context, path string, bytes int64, each func(Record) error) error {
	r := &reader{path: path, each: each}
	defer r.close()
	if err := r.openLatest(bytes); err != nil {
		return err
	}
	return r.follow(ctx)
}

// openLatest opens the current file that far before its end.
func (r *reader) openLatest(bytes int64) error {
	f, err := os.Open(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	r.files = append(r.files, f)
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	at := max(0, end-bytes)
	if _, err := f.Seek(at, io.SeekStart); err != nil || at == 0 {
		return err
	}
	for one := make([]byte, 1); one[0] != '\n'; { // a line's rest
		if _, err := f.Read(one); err != nil {
			return nil //nolint:nilerr // there is no whole line; what comes is read
		}
	}
	return nil
}
