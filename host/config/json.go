package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// parseJSON parses JSON with comments and trailing commas. The nodes get origin, with their line.
func parseJSON(data []byte, origin Origin) (*node, *Error) {
	if line, deep := tooDeep(data); deep {
		return nil, syntaxError(origin.at(line), "nested more than %d levels deep", maxDepth)
	}
	// A comment in the last line needs a line end for hujson to see it as complete.
	value, err := hujson.Parse(append(data[:len(data):len(data)], '\n'))
	if err != nil {
		return nil, jsonSyntaxError(err, data, origin)
	}
	c := jsonConverter{data: data, origin: origin.at(1)}
	return c.node(value), nil
}

// tooDeep reports whether objects and lists are nested more than maxDepth deep, and the line where it is so. It
// looks before hujson does, since hujson recurses without a bound and would exhaust the stack.
func tooDeep(data []byte) (line int, deep bool) {
	line = 1
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '\n':
			line++
		case '{', '[':
			if depth++; depth > maxDepth {
				return line, true
			}
		case '}', ']':
			depth--
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '/':
			i += commentLength(data[i:])
		}
	}
	return line, false
}

// commentLength returns how many bytes after the first one belong to the comment that b starts with; 0 when b does
// not start with one.
func commentLength(b []byte) int {
	end := ""
	switch {
	case bytes.HasPrefix(b, []byte("//")):
		end = "\n"
	case bytes.HasPrefix(b, []byte("/*")):
		end = "*/"
	default:
		return 0
	}
	n := bytes.Index(b[2:], []byte(end))
	if n < 0 {
		return len(b) - 1
	}
	if end == "\n" {
		return n + 1 // the line end itself is left for the caller to count
	}
	return n + 3
}

// jsonConverter turns hujson's tree into nodes. It counts lines as it goes, since the offsets only grow.
type jsonConverter struct {
	data   []byte
	offset int
	origin Origin
}

func (c *jsonConverter) at(offset int) Origin {
	offset = min(offset, len(c.data))
	c.origin = c.origin.at(c.origin.Line + bytes.Count(c.data[c.offset:offset], []byte("\n")))
	c.offset = offset
	return c.origin
}

func (c *jsonConverter) node(v hujson.Value) *node {
	n := &node{origin: c.at(v.StartOffset)}
	switch value := v.Value.(type) {
	case *hujson.Object:
		n.kind = object
		n.members = make([]member, 0, len(value.Members))
		for _, m := range value.Members {
			key := m.Name.Value.(hujson.Literal).String()
			origin := c.at(m.Name.StartOffset)
			n.members = append(n.members, member{key: key, origin: origin, value: c.node(m.Value)})
		}
	case *hujson.Array:
		n.kind = list
		n.items = make([]*node, 0, len(value.Elements))
		for _, element := range value.Elements {
			n.items = append(n.items, c.node(element))
		}
	case hujson.Literal:
		n.scalar = value.String()
		switch value.Kind() {
		case '"':
			n.kind = text
		case 't', 'f':
			n.kind = boolean
		case '0':
			n.kind = number
		default:
			n.kind = null
		}
	}
	return n
}

var (
	hujsonPlace = lazyregexp.New(`^hujson: line (\d+), column (\d+): `)
	badEscape   = lazyregexp.New(`^(?:[^\\]|\\["\\/bfnrtu])*(\\[^"\\/bfnrtu])`)
)

// jsonSyntaxError says in the words of this package what hujson says is wrong. A backslash that is not doubled
// gets a cure of its own: it is what everybody who writes a regular expression into JSON gets wrong once.
func jsonSyntaxError(err error, data []byte, origin Origin) *Error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		last := origin.at(1 + bytes.Count(bytes.TrimRight(data, "\n"), []byte("\n")))
		if len(bytes.TrimSpace(data)) == 0 {
			return &Error{Origin: last, Problem: "there is no JSON, not even {}; write {} for the defaults, or take the file away", err: err}
		}
		return &Error{Origin: last, Problem: "this is not JSON: it ends before it is complete",
			Cure: "a closing quote, bracket or brace is missing", err: err}
	}
	message, line := err.Error(), 0
	if place := hujsonPlace().FindStringSubmatch(message); place != nil {
		line, _ = strconv.Atoi(place[1]) // the expression matched digits
		message = "column " + place[2] + ": " + message[len(place[0]):]
	}
	out := &Error{Origin: origin.at(line), err: err}
	if _, literal, found := strings.Cut(message, "invalid literal: "); found {
		if escape := badEscape().FindStringSubmatch(literal); literal[0] == '"' && escape != nil {
			out.Problem = fmt.Sprintf("invalid escape %s in the string %s", escape[1], literal)
			out.Cure = fmt.Sprintf(`in JSON a backslash is written twice: \%s`, escape[1])
			return out
		}
		if literal[0] != '"' {
			out.Cure = "strings are written in double quotes"
		} else if !json.Valid([]byte(literal)) {
			out.Cure = "a string ends on the line that it starts on, and holds no raw control characters"
		}
	}
	out.Problem = "this is not JSON: " + message
	return out
}
