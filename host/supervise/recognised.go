package supervise

import (
	"os"
	"path/filepath"
)

// recognised keeps which binaries have said of themselves what their manifest says. To say it, a plugin builds all its
// tools' schemas, which takes longer than all else that it does before its first call. One note for each plugin is
// kept, of the binary that was asked last.
type recognised struct {
	dir string // empty to keep none
}

func (r *recognised) file(plugin string) string {
	return filepath.Join(r.dir, "recognised-"+plugin)
}

// has reports whether what the spec names was recognised.
func (r *recognised) has(spec *Spec) bool {
	if r.dir == "" || spec.Digest == "" {
		return false
	}
	note, err := os.ReadFile(r.file(spec.Manifest.ID))
	return err == nil && string(note) == spec.Digest
}

// add notes that it was. Where that can't be noted, it is asked again.
func (r *recognised) add(spec *Spec) error {
	if r.dir == "" || spec.Digest == "" {
		return nil
	}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(r.file(spec.Manifest.ID), []byte(spec.Digest), 0o600)
}
