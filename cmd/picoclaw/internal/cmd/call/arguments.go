package call

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/suggest"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// callArguments are a call's arguments as given: key=value pairs, or one JSON object.
type callArguments struct {
	pairs  []string
	json   string
	isJSON bool
	stdin  io.Reader
}

// toolLister lists tools.
type toolLister interface{ Tools() []session.Tool }

// encodeArguments returns the arguments as JSON, typed by the tool's schema.
func (c *callArguments) encodeArguments(s toolLister, tool string) (json.RawMessage, error) {
	if c.isJSON {
		return c.readJSONArguments()
	}
	schema, err := inputSchema(s, tool)
	if err != nil {
		return nil, cli.StartError(err)
	}
	values := make(map[string]any, len(c.pairs))
	for _, pair := range c.pairs {
		if !utf8.ValidString(pair) {
			return nil, cli.UsageErrorf("%q is not valid UTF-8", pair)
		}
		name, text, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, cli.UsageErrorf("%q is not of the form key=value%s", pair, suggestKeyValue(schema, pair))
		}
		var property *jsonschema.Schema
		if schema != nil {
			property = schema.Properties[name]
		}
		if acceptsFileContent(property) {
			var err error
			if text, err = c.readArgumentText(name, text); err != nil {
				return nil, err
			}
		}
		value, err := parseTypedValue(property, name, text)
		if err != nil {
			return nil, err
		}
		if values[name], err = appendListItem(values[name], value, name); err != nil {
			return nil, err
		}
	}
	return json.Marshal(values)
}

// readJSONArguments returns the JSON object in --json, in a file or on standard input.
func (c *callArguments) readJSONArguments() (json.RawMessage, error) {
	if len(c.pairs) > 0 {
		return nil, cli.UsageErrorf("give the arguments either as key=value or with --json")
	}
	file, named := strings.CutPrefix(c.json, "@")
	switch {
	case c.json == "-":
		return readLimitedText(c.stdin, "standard input")
	case named:
		return readLimitedFile(file)
	}
	return json.RawMessage(c.json), nil
}

// readArgumentText replaces - by standard input and @FILE by the file's content. @@ is a literal @.
func (c *callArguments) readArgumentText(name, text string) (string, error) {
	var data []byte
	var err error
	switch {
	case text == "-":
		data, err = readLimitedText(c.stdin, "standard input")
	case strings.HasPrefix(text, "@@"):
		return text[1:], nil
	case strings.HasPrefix(text, "@"):
		data, err = readLimitedFile(text[1:])
	default:
		return text, nil
	}
	if err == nil && !utf8.Valid(data) {
		err = cli.UsageErrorf("argument %s: the contents of %s are not UTF-8 text", name, text)
	}
	return string(data), err
}

func readLimitedFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, cli.UsageErrorf("read the arguments: %v", err)
	}
	defer f.Close()
	return readLimitedText(f, path)
}

func readLimitedText(r io.Reader, what string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, pluginpb.MaxArgumentBytes+1))
	if err == nil && len(data) > pluginpb.MaxArgumentBytes {
		err = fmt.Errorf("it is longer than %d bytes", pluginpb.MaxArgumentBytes)
	}
	if err != nil {
		return nil, cli.UsageErrorf("read the arguments from %s: %v", what, err)
	}
	return data, nil
}

// inputSchema returns the schema of a tool's arguments; nil if the session has no such tool.
func inputSchema(s toolLister, tool string) (*jsonschema.Schema, error) {
	for _, t := range s.Tools() {
		if tool == t.Name || tool == t.Plugin+"."+t.Spec.Name {
			schema, err := t.Spec.Input.Parse()
			if err != nil {
				return nil, fmt.Errorf("tool %s: %w", tool, err)
			}
			return schema, nil
		}
	}
	return nil, nil
}

// propertyNames returns the names of a tool's arguments, required ones first.
func propertyNames(schema *jsonschema.Schema) []string {
	var required, optional []string
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		if slices.Contains(schema.Required, name) {
			required = append(required, name)
		} else {
			optional = append(optional, name)
		}
	}
	return append(required, optional...)
}

// suggestKeyValue suggests a key=value pair for a word without =.
func suggestKeyValue(schema *jsonschema.Schema, word string) string {
	if schema == nil {
		return ""
	}
	names := propertyNames(schema)
	if slices.Contains(names, word) {
		return fmt.Sprintf("; say %s=…", word)
	}
	if meant := suggest.DidYouMean(word, names); meant != "" || len(schema.Required) == 0 {
		return meant
	}
	return fmt.Sprintf("; did you mean %s=%s?", schema.Required[0], strings.TrimPrefix(word, "="))
}

// acceptsFileContent reports whether an argument's text may come from a file. Paths and commands are taken literally.
func acceptsFileContent(property *jsonschema.Schema) bool {
	return property != nil && slices.Contains(append(property.Types, property.Type), "string") &&
		claimOfProperty(property) == "" && len(property.Enum) == 0
}

// claimOfProperty returns the claim of a property in a tool's schema; "" for none.
func claimOfProperty(property *jsonschema.Schema) pluginpb.ArgumentClaim {
	claim, _ := property.Extra[pluginpb.ClaimKey].(string) // "" for an argument without
	return pluginpb.ArgumentClaim(claim)
}

// parseTypedValue converts text to the type in the argument's schema. An unknown argument stays a string.
func parseTypedValue(property *jsonschema.Schema, name, value string) (any, error) {
	if property == nil {
		return value, nil
	}
	for _, t := range append(property.Types, property.Type) {
		switch t {
		case "integer":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return nil, cli.UsageErrorf("argument %s=%s must be a whole number", name, value)
			}
			return n, nil
		case "number":
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return nil, cli.UsageErrorf("argument %s=%s must be a number", name, value)
			}
			return n, nil
		case "boolean":
			b, err := strconv.ParseBool(value)
			if err != nil {
				return nil, cli.UsageErrorf("argument %s=%s must be true or false", name, value)
			}
			return b, nil
		case "array":
			if strings.HasPrefix(value, "[") || property.Items == nil || property.Items.Type != "string" {
				return parseJSONValue(name, value, t)
			}
			return []string{value}, nil
		case "object":
			return parseJSONValue(name, value, t)
		}
	}
	return value, nil
}

func parseJSONValue(name, value, kind string) (any, error) {
	if !json.Valid([]byte(value)) {
		return nil, cli.UsageErrorf("argument %s must be a JSON %s", name, kind)
	}
	return json.RawMessage(value), nil
}

// appendListItem adds a value to the previous values of the same argument, because list items may be given separately.
func appendListItem(before, value any, name string) (any, error) {
	if before == nil {
		return value, nil
	}
	list, ok := before.([]string)
	more, too := value.([]string)
	if !ok || !too {
		return nil, cli.UsageErrorf("argument %q is given twice", name)
	}
	return append(list, more...), nil
}
