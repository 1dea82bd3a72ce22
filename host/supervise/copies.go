package supervise

import (
	"errors"
	"os"
	"sync"
)

// copies are the checked copies of installed plugins that this host's instances run: the bytes that were hashed are the
// bytes that are executed, and nobody else writes where they are. One is made for each plugin and kept for the host's
// life.
type copies struct {
	mu   sync.Mutex
	made map[string]func() (string, error) // by digest: its directory
}

// of returns the directory of a spec's copy, which it makes at the first call.
func (c *copies) of(spec *Spec, parent string) (dir string, err error) {
	c.mu.Lock()
	if c.made == nil {
		c.made = make(map[string]func() (string, error))
	}
	make := c.made[spec.Digest]
	if make == nil {
		make = sync.OnceValues(func() (string, error) { return copyOf(spec, parent) })
		c.made[spec.Digest] = make
	}
	c.mu.Unlock()
	dir, err = make()
	if err != nil {
		c.mu.Lock()
		delete(c.made, spec.Digest) // it may be installed again meanwhile
		c.mu.Unlock()
		return "", err
	}
	return dir, nil
}

func copyOf(spec *Spec, parent string) (string, error) {
	dir, err := os.MkdirTemp(parent, "p")
	if err != nil {
		return "", err
	}
	if err := spec.Copy(dir); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}
