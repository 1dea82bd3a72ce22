package workspace

import (
	"errors"
	"fmt"
)

// Untouched reports whether an error of a change says that nothing was changed, as all do but a few.
func Untouched(err error) bool {
	var (
		unsettled *Unsettled
		torn      *Torn
		halfway   *Halfway
		left      *Leftover
	)
	return err != nil && !errors.As(err, &unsettled) && !errors.As(err, &torn) && !errors.As(err, &halfway) && !errors.As(err, &left)
}

// Unsettled is the error for a change that is made, and perhaps not on the disk: what a machine that stops now has afterwards is not
// known.
type Unsettled struct {
	Path string
	Err  error
}

func (e *Unsettled) Error() string {
	return fmt.Sprintf("the change of %s is made, but it may not be on the disk: %v", e.Path, e.Err)
}

func (e *Unsettled) Unwrap() error { return e.Err }

// Torn is the error for a file that could be written in part only, and not be put back. The next process finishes it.
type Torn struct {
	Path string
	Err  error
}

func (e *Torn) Error() string {
	return fmt.Sprintf("%s is written in part only; it is finished when this program starts again and the disk takes it: %v", e.Path, e.Err)
}

func (e *Torn) Unwrap() error { return e.Err }

// Halfway is the error for several changes of which one could not be made, and one before it not be taken back.
type Halfway struct {
	Path string // what is changed
	Err  error
}

func (e *Halfway) Error() string {
	return fmt.Sprintf("%s is changed already, and could not be changed back: %v", e.Path, e.Err)
}

func (e *Halfway) Unwrap() error { return e.Err }
