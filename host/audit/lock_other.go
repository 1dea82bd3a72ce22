//go:build !unix

package audit

import "os"

// locked does something. These systems don't move a file that is open, so there is one writer to a file.
func (l *Log) locked(do func() error) error { return do() }

func shared(_ *os.File, do func() error) error { return do() }

// ignoreUnsupported leaves out all errors of putting a directory on disk: these systems can't.
func ignoreUnsupported(error) error { return nil }
