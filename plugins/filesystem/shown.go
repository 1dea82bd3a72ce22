package main

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shown is a name as it may stand in a line of output: as it is, or quoted if it has characters that could forge
// another line or hide something.
func shown(name string) string {
	unsafe := func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }
	if strings.ContainsFunc(name, unsafe) {
		return strconv.Quote(name)
	}
	return name
}
