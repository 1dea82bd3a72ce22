package config

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// maxNodes bounds a YAML document after its aliases are filled in, against a small file that unfolds to a huge one.
const maxNodes = 100_000

// parseYAML parses one YAML document. The nodes get origin, with their line. koanf's own parser is of no use here, as
// it forgets the lines.
func parseYAML(data []byte, origin Origin) (*node, *Error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return &node{kind: object, origin: origin.at(1)}, nil // nothing but comments
		}
		return nil, yamlSyntaxError(err, origin)
	}
	var second yaml.Node
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, yamlSyntaxError(err, origin)
		}
		return nil, syntaxError(origin.at(second.Line), "a second YAML document starts here, and only one is read")
	}
	c := yamlConverter{origin: origin}
	n, err := c.node(&document, 0)
	if err == nil && n.kind == null {
		n = &node{kind: object, origin: origin.at(1)}
	}
	return n, err
}

// yamlConverter turns the library's tree into nodes, and counts them.
type yamlConverter struct {
	origin Origin
	count  int
}

func (c *yamlConverter) node(y *yaml.Node, depth int) (*node, *Error) {
	if c.count++; c.count > maxNodes {
		return nil, syntaxError(c.origin.at(y.Line), "more than %d values once the aliases are filled in", maxNodes)
	}
	if depth > maxDepth {
		return nil, syntaxError(c.origin.at(y.Line), "nested more than %d levels deep", maxDepth)
	}
	switch y.Kind {
	case yaml.DocumentNode:
		if len(y.Content) == 0 {
			return &node{kind: null, origin: c.origin.at(1)}, nil
		}
		return c.node(y.Content[0], depth)
	case yaml.AliasNode:
		return c.node(y.Alias, depth+1)
	case yaml.SequenceNode:
		n := &node{kind: list, origin: c.origin.at(y.Line), items: make([]*node, 0, len(y.Content))}
		for _, content := range y.Content {
			item, err := c.node(content, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
		}
		return n, nil
	case yaml.MappingNode:
		return c.mapping(y, depth)
	default:
		return c.scalar(y)
	}
}

func (c *yamlConverter) mapping(y *yaml.Node, depth int) (*node, *Error) {
	n := &node{kind: object, origin: c.origin.at(y.Line), members: make([]member, 0, len(y.Content)/2)}
	for i := 0; i+1 < len(y.Content); i += 2 {
		key := y.Content[i]
		switch {
		case key.ShortTag() == "!!merge":
			return nil, syntaxError(c.origin.at(key.Line), "merge keys (<<) are not supported; write the keys out")
		case key.Kind != yaml.ScalarNode:
			return nil, syntaxError(c.origin.at(key.Line), "a key must be a plain name")
		}
		value, err := c.node(y.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		n.members = append(n.members, member{key: key.Value, origin: c.origin.at(key.Line), value: value})
	}
	return n, nil
}

func (c *yamlConverter) scalar(y *yaml.Node) (*node, *Error) {
	n := &node{origin: c.origin.at(y.Line), scalar: y.Value}
	switch tag := y.ShortTag(); tag {
	case "!!str", "!!timestamp": // a date is only ever meant as text here
		n.kind = text
	case "!!null":
		n.kind = null
	case "!!bool":
		var b bool
		if err := y.Decode(&b); err != nil {
			return nil, syntaxError(c.origin.at(y.Line), "%q is not a boolean", y.Value)
		}
		n.kind, n.scalar = boolean, strconv.FormatBool(b)
	case "!!int":
		// YAML writes numbers in more ways than JSON (0x1f, 1_000); from here on there is one.
		var i int64
		if err := y.Decode(&i); err != nil {
			return nil, syntaxError(c.origin.at(y.Line), "%q is not a whole number that fits in 64 bits", y.Value)
		}
		n.kind, n.scalar = number, strconv.FormatInt(i, 10)
	case "!!float":
		n.kind = number
	default:
		return nil, syntaxError(c.origin.at(y.Line), "the tag %s is not supported", tag)
	}
	return n, nil
}

var yamlPlace = lazyregexp.New(`^yaml: (?:line (\d+): )?`)

func yamlSyntaxError(err error, origin Origin) *Error {
	message, line := err.Error(), 0
	if place := yamlPlace().FindStringSubmatch(message); place != nil {
		line, _ = strconv.Atoi(place[1]) // empty where the library names no line: then it is 0
		message = message[len(place[0]):]
	}
	out := syntaxError(origin.at(line), "this is not YAML: %s", message)
	out.err = err
	return out
}
