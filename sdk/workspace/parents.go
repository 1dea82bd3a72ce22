package workspace

import (
	"os"
	"path/filepath"
	"strings"
)

// createdDir is a parent directory that a transaction created.
type createdDir struct {
	root *os.Root
	name string
	own  bool // close root with the transaction
}

// removeEmpty removes the directory if it is empty.
func (d createdDir) removeEmpty() { _ = d.root.Remove(d.name) }

// makeParents creates missing parent directories, each in the previous one, and opens the target. Resolving each
// directory from the top would take hours for very long paths.
func (tx *changeTransaction) makeParents(at accessTarget, asked string) (*changeTarget, error) {
	step := at
	above, base := filepath.Split(at.name)
	name := ""
	for _, element := range strings.Split(filepath.Clean(above), string(filepath.Separator)) {
		name = filepath.Join(name, element)
		err := step.dir.Mkdir(element, newDirMode)
		if err == nil {
			tx.createdDirs = append(tx.createdDirs, createdDir{root: at.dir, name: name})
		}
		var next *os.Root
		if err == nil || os.IsExist(err) {
			next, err = step.dir.OpenRoot(element)
		}
		if step.dir != at.dir {
			_ = step.dir.Close()
		}
		if err != nil {
			return nil, err
		}
		step.dir = next
	}
	step.name = base
	t, err := step.openTargetParent(asked)
	if err != nil {
		_ = step.dir.Close()
		return nil, err
	}
	t.own, t.path = true, at.fullPath()
	return t, nil
}
