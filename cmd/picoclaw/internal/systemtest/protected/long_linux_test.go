//go:build long

package protected_test

func init() { long = true }
