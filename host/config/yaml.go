package config

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// maxNodes limits a YAML document after the expansion of aliases, since a small file can expand to a huge one.
const maxNodes = 100_000

// parseYAML parses one YAML document. Each node gets origin with its line, which koanf's parser does not preserve.
func parseYAML(data []byte, origin Origin) (*documentNode, *Error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return &documentNode{kind: objectNode, origin: origin.withLine(1)}, nil // comments only
		}
		return nil, yamlSyntaxError(err, origin)
	}
	var second yaml.Node
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, yamlSyntaxError(err, origin)
		}
		return nil, newSyntaxError(origin.withLine(second.Line), "a second YAML document starts here, and only one is read")
	}
	c := yamlNodeBuilder{origin: origin}
	n, err := c.convertNode(&document, 0)
	if err == nil && n.kind == nullNode {
		n = &documentNode{kind: objectNode, origin: origin.withLine(1)}
	}
	return n, err
}

// yamlNodeBuilder converts the YAML library's tree to nodes, and counts them.
type yamlNodeBuilder struct {
	origin Origin
	count  int
}

func (c *yamlNodeBuilder) convertNode(y *yaml.Node, depth int) (*documentNode, *Error) {
	if c.count++; c.count > maxNodes {
		return nil, newSyntaxError(c.origin.withLine(y.Line), "more than %d values after expansion of aliases", maxNodes)
	}
	if depth > maxDepth {
		return nil, newSyntaxError(c.origin.withLine(y.Line), "nested more than %d levels deep", maxDepth)
	}
	switch y.Kind {
	case yaml.DocumentNode:
		if len(y.Content) == 0 {
			return &documentNode{kind: nullNode, origin: c.origin.withLine(1)}, nil
		}
		return c.convertNode(y.Content[0], depth)
	case yaml.AliasNode:
		return c.convertNode(y.Alias, depth+1)
	case yaml.SequenceNode:
		n := &documentNode{kind: listNode, origin: c.origin.withLine(y.Line), items: make([]*documentNode, 0, len(y.Content))}
		for _, content := range y.Content {
			item, err := c.convertNode(content, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
		}
		return n, nil
	case yaml.MappingNode:
		return c.convertMapping(y, depth)
	default:
		return c.convertScalar(y)
	}
}

func (c *yamlNodeBuilder) convertMapping(y *yaml.Node, depth int) (*documentNode, *Error) {
	n := &documentNode{kind: objectNode, origin: c.origin.withLine(y.Line), members: make([]objectMember, 0, len(y.Content)/2)}
	for i := 0; i+1 < len(y.Content); i += 2 {
		key := y.Content[i]
		switch {
		case key.ShortTag() == "!!merge":
			return nil, newSyntaxError(c.origin.withLine(key.Line), "merge keys (<<) are not supported; write the keys out")
		case key.Kind != yaml.ScalarNode:
			return nil, newSyntaxError(c.origin.withLine(key.Line), "a key must be a plain name")
		}
		value, err := c.convertNode(y.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		n.members = append(n.members, objectMember{key: key.Value, origin: c.origin.withLine(key.Line), value: value})
	}
	return n, nil
}

func (c *yamlNodeBuilder) convertScalar(y *yaml.Node) (*documentNode, *Error) {
	n := &documentNode{origin: c.origin.withLine(y.Line), scalar: y.Value}
	switch tag := y.ShortTag(); tag {
	case "!!str", "!!timestamp": // dates are text
		n.kind = textNode
	case "!!null":
		n.kind = nullNode
	case "!!bool":
		var b bool
		if err := y.Decode(&b); err != nil {
			return nil, newSyntaxError(c.origin.withLine(y.Line), "%q is not a boolean", y.Value)
		}
		n.kind, n.scalar = booleanNode, strconv.FormatBool(b)
	case "!!int":
		// Normalise YAML's number formats, such as 0x1f and 1_000.
		var i int64
		if err := y.Decode(&i); err != nil {
			return nil, newSyntaxError(c.origin.withLine(y.Line), "%q is not a whole number that fits in 64 bits", y.Value)
		}
		n.kind, n.scalar = numberNode, strconv.FormatInt(i, 10)
	case "!!float":
		n.kind = numberNode
	default:
		return nil, newSyntaxError(c.origin.withLine(y.Line), "the tag %s is not supported", tag)
	}
	return n, nil
}

var yamlLocation = lazyregexp.New(`^yaml: (?:line (\d+): )?`)

func yamlSyntaxError(err error, origin Origin) *Error {
	message, line := err.Error(), 0
	if place := yamlLocation().FindStringSubmatch(message); place != nil {
		line, _ = strconv.Atoi(place[1]) // empty without a line: 0
		message = message[len(place[0]):]
	}
	out := newSyntaxError(origin.withLine(line), "this is not YAML: %s", message)
	out.err = err
	return out
}
