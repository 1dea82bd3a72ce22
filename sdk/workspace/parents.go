package workspace

import (
	"os"
	"path/filepath"
	"strings"
)

// madeDir is a directory that was made for a file.
type madeDir struct {
	root *os.Root
	name string
}

// remove removes it if nobody has put anything into it.
func (d madeDir) remove() { _ = d.root.Remove(d.name) }

// makeParents makes the missing directories above a place and opens the target there.
func (tx *transaction) makeParents(at place, asked string) (*target, error) {
	name := ""
	for _, element := range strings.Split(filepath.Dir(at.name), string(filepath.Separator)) {
		name = filepath.Join(name, element)
		err := at.dir.Mkdir(name, newDir)
		switch {
		case err == nil:
			tx.made = append(tx.made, madeDir{at.dir, name})
		case os.IsExist(err):
		default:
			return nil, err
		}
	}
	return at.target(asked)
}
