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
	if strings.ContainsFunc(name, forging) {
		return strconv.Quote(name)
	}
	return name
}

// legible is a message in which a file's name can't do that either.
func legible(message string) string {
	if !strings.ContainsFunc(message, forging) {
		return message
	}
	quoted := strconv.Quote(message)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

func forging(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }
