package journal

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
)

// idPattern is what an id may look like: it becomes the name of a file.
var idPattern = regexp.MustCompile(`^[0-9]{8}T[0-9]{15}-[a-z0-9]{4}$`)

// maxOpSize bounds the description of one operation, in bytes.
const maxOpSize = 8 << 20

// Unknown is the error for an operation that is not in the journal.
type Unknown struct{ ID string }

func (e *Unknown) Error() string {
	return fmt.Sprintf("the journal has no operation %q; history lists those it has", e.ID)
}

// Each calls fn with the operations, the newest first, until it returns false.
func (j *Journal) Each(fn func(*Op) bool) error {
	ids, err := j.ids()
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	for _, id := range ids {
		op, err := j.Op(id)
		var unknown *Unknown
		if errors.As(err, &unknown) {
			continue // pruned meanwhile, or damaged
		}
		if err != nil {
			return err
		}
		if !fn(op) {
			return nil
		}
	}
	return nil
}

// Op returns an operation.
func (j *Journal) Op(id string) (*Op, error) {
	f, op, _, err := j.open(id)
	if err != nil {
		return nil, err
	}
	return op, f.Close()
}

func (j *Journal) open(id string) (*os.File, *Op, *tar.Reader, error) {
	if !idPattern.MatchString(id) {
		return nil, nil, nil, &Unknown{id}
	}
	f, err := os.Open(j.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil, &Unknown{id}
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("read the journal: %w", err)
	}
	op, archive, err := readOp(f)
	if err != nil {
		_ = f.Close()
		return nil, nil, nil, &Unknown{id}
	}
	op.ID = id
	return f, op, archive, nil
}

func readOp(r io.Reader) (*Op, *tar.Reader, error) {
	archive := tar.NewReader(r)
	h, err := archive.Next()
	if err != nil {
		return nil, nil, err
	}
	if h.Name != opMember || h.Size > maxOpSize {
		return nil, nil, errors.New("not an operation")
	}
	var op Op
	if err := json.NewDecoder(archive).Decode(&op); err != nil {
		return nil, nil, err
	}
	return &op, archive, nil
}

// Kept is something that an operation kept.
type Kept struct {
	Name     string // relative to the blob, "." for the blob itself
	Header   *tar.Header
	Contents io.Reader // of a regular file
}

// Blob calls fn with everything that was kept under a name, directories before their contents.
func (j *Journal) Blob(id, blob string, fn func(Kept) error) error {
	f, _, archive, err := j.open(id)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the journal: operation %s is damaged: %w", id, err)
		}
		name := path.Clean(h.Name)
		rest, ok := strings.CutPrefix(name+"/", blob+"/")
		if !ok {
			continue
		}
		if err := fn(Kept{Name: path.Join(".", rest), Header: h, Contents: archive}); err != nil {
			return err
		}
	}
}
