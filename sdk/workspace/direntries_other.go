//go:build !unix

package workspace

import "os"

// entries returns a handle that reads the directory's entries.
func entries(d *os.File) (*os.File, error) { return os.Open(d.Name()) }
