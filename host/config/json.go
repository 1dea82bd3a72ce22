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

// parseJSON parses JSON with comments and trailing commas. Each node gets origin with its line.
func parseJSON(data []byte, origin Origin) (*documentNode, *Error) {
	if line, deep := exceedsMaxDepth(data); deep {
		return nil, newSyntaxError(origin.withLine(line), "nested more than %d levels deep", maxDepth)
	}
	// hujson requires a line end after a comment.
	value, err := hujson.Parse(append(data[:len(data):len(data)], '\n'))
	if err != nil {
		return nil, jsonSyntaxError(err, data, origin)
	}
	c := jsonNodeBuilder{data: data, origin: origin.withLine(1)}
	return c.convertNode(value), nil
}

// exceedsMaxDepth reports whether objects and lists are nested deeper than maxDepth, and in which line. It runs before
// hujson, whose recursion is unbounded.
func exceedsMaxDepth(data []byte) (line int, deep bool) {
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
			i += commentBytesToSkip(data[i:])
		}
	}
	return line, false
}

// commentBytesToSkip returns the length of the comment at the beginning of b, less one byte, which the caller counts; 0 for
// none.
func commentBytesToSkip(b []byte) int {
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
		return n + 1 // the caller counts the line end
	}
	return n + 3
}

// jsonNodeBuilder converts hujson's tree to nodes. It counts lines incrementally, since offsets only increase.
type jsonNodeBuilder struct {
	data   []byte
	offset int
	origin Origin
}

func (c *jsonNodeBuilder) originAtOffset(offset int) Origin {
	offset = min(offset, len(c.data))
	c.origin = c.origin.withLine(c.origin.Line + bytes.Count(c.data[c.offset:offset], []byte("\n")))
	c.offset = offset
	return c.origin
}

func (c *jsonNodeBuilder) convertNode(v hujson.Value) *documentNode {
	n := &documentNode{origin: c.originAtOffset(v.StartOffset)}
	switch value := v.Value.(type) {
	case *hujson.Object:
		n.kind = objectNode
		n.members = make([]objectMember, 0, len(value.Members))
		for _, m := range value.Members {
			key := m.Name.Value.(hujson.Literal).String()
			origin := c.originAtOffset(m.Name.StartOffset)
			n.members = append(n.members, objectMember{key: key, origin: origin, value: c.convertNode(m.Value)})
		}
	case *hujson.Array:
		n.kind = listNode
		n.items = make([]*documentNode, 0, len(value.Elements))
		for _, element := range value.Elements {
			n.items = append(n.items, c.convertNode(element))
		}
	case hujson.Literal:
		n.scalar = value.String()
		switch value.Kind() {
		case '"':
			n.kind = textNode
		case 't', 'f':
			n.kind = booleanNode
		case '0':
			n.kind = numberNode
		default:
			n.kind = nullNode
		}
	}
	return n
}

var (
	hujsonLocation = lazyregexp.New(`^hujson: line (\d+), column (\d+): `)
	badEscape      = lazyregexp.New(`^(?:[^\\]|\\["\\/bfnrtu])*(\\[^"\\/bfnrtu])`)
)

// jsonSyntaxError converts a syntax error of hujson. An unescaped backslash, a usual mistake in regular expressions,
// gets its own remedy.
func jsonSyntaxError(err error, data []byte, origin Origin) *Error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		last := origin.withLine(1 + bytes.Count(bytes.TrimRight(data, "\n"), []byte("\n")))
		if len(bytes.TrimSpace(data)) == 0 {
			return &Error{Origin: last, Problem: "the file is empty",
				Cure: "restore a copy, or move it away, remove its line from files.json in the home, and write a new one with `picoclaw init`",
				err:  err}
		}
		return &Error{Origin: last, Problem: "this is not JSON: it ends before it is complete",
			Cure: "a closing quote, bracket or brace is missing", err: err}
	}
	message, line := err.Error(), 0
	if place := hujsonLocation().FindStringSubmatch(message); place != nil {
		line, _ = strconv.Atoi(place[1]) // only digits match
		message = "column " + place[2] + ": " + message[len(place[0]):]
	}
	out := &Error{Origin: origin.withLine(line), err: err}
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
