//go:build long

package undo_test

func init() { long = true }
