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
	own  bool // root is to be closed with the transaction
}

// remove removes it if nobody has put anything into it.
func (d madeDir) remove() { _ = d.root.Remove(d.name) }

// makeParents makes the missing directories above a place and opens the target there. It goes from each directory to
// the next: to find each from the first would take hours for a path as long as paths may be.
func (tx *transaction) makeParents(at place, asked string) (*target, error) {
	step := at
	above, base := filepath.Split(at.name)
	name := ""
	for _, element := range strings.Split(filepath.Clean(above), string(filepath.Separator)) {
		name = filepath.Join(name, element)
		err := step.dir.Mkdir(element, newDir)
		if err == nil {
			tx.made = append(tx.made, madeDir{root: at.dir, name: name})
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
	t, err := step.target(asked)
	if err != nil {
		_ = step.dir.Close()
		return nil, err
	}
	t.own, t.path = true, at.full()
	return t, nil
}
