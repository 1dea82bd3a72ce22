package pluginpb

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// NotJSON says in plain words why a text is not valid JSON, as the error of the decoder that has read it has it, and at
// which byte.
func NotJSON(text []byte, err error) string {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return plainError(err)
	}
	said, at := syntax.Err.Error(), syntax.ByteOffset
	rest := text[min(max(at, 0), int64(len(text))):]
	switch {
	case errors.Is(syntax.Err, jsontext.ErrDuplicateName):
		return fmt.Sprintf("a name is given twice, at byte %d", at)
	case strings.Contains(said, "max depth"):
		return fmt.Sprintf("it is nested too deeply, at byte %d", at)
	case strings.Contains(said, "UTF-8"):
		return fmt.Sprintf("it is not UTF-8 at byte %d", at)
	case strings.Contains(said, "escape"), strings.Contains(said, "surrogate"):
		return fmt.Sprintf("there is no such escape in JSON as the one at byte %d", at)
	case errors.Is(syntax.Err, io.ErrUnexpectedEOF), len(bytes.TrimSpace(rest)) == 0:
		return fmt.Sprintf("it ends too early, at byte %d", at)
	}
	c, _ := utf8.DecodeRune(rest)
	found := fmt.Sprintf("%q", c)
	before := bytes.TrimRight(text[:at], " \t\r\n")
	switch wants := expected(said); {
	case c == ',' && bytes.IndexAny(bytes.TrimLeft(rest[1:], " \t\r\n"), "]}") == 0:
		return fmt.Sprintf("there is a comma too many at byte %d", at)
	case c == '\'':
		return fmt.Sprintf("%s at byte %d: texts and names are in double quotes", found, at)
	case wants == `'"'`, errors.Is(syntax.Err, jsontext.ErrNonStringName), bytes.HasSuffix(before, []byte("{")):
		return fmt.Sprintf("%s at byte %d, where a name in double quotes belongs", found, at)
	case wants != "":
		return fmt.Sprintf("%s at byte %d, where %s belongs", found, at, wants)
	case bytes.HasSuffix(before, []byte(":")):
		return fmt.Sprintf("%s at byte %d, where a value belongs", found, at)
	}
	return fmt.Sprintf("%s at byte %d does not belong there", found, at)
}

// expected is what a decoder's message says should have been there; empty if it says nothing.
func expected(said string) string {
	if strings.Contains(said, " literal ") {
		return "" // the rest of a word is no help to who meant another
	}
	_, wants, _ := strings.Cut(said, "(expecting ")
	wants, _, _ = strings.Cut(wants, ")")
	return wants
}

// plainError is an error that is none of the syntax.
func plainError(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "it ends too early"
	}
	return err.Error()
}
