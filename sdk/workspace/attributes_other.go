//go:build !linux

package workspace

import "os"

// Attributes knows of none here.
func Attributes(*os.File) (map[string]string, error) { return nil, nil }

func setAttributes(*os.File, map[string]string) error { return nil }
