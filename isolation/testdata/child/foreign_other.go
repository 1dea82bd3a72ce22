//go:build !linux || !amd64

package main

import "errors"

func foreign([]string) error { return errors.New("this architecture has no second set of calls") }
