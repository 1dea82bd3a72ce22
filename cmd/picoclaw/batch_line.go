package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/picoclaw/picoclaw/internal/nearest"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// batchLine is one call of a batch.
type batchLine struct {
	ID    json.RawMessage
	Tool  string
	Args  json.RawMessage
	Agent string
}

// readBatchLine reads a line as strictly as a tool's arguments are read: its keys are exact, known and unique, so that
// nobody who looks at the same line sees another call. What was read until an error is returned with it, so that the
// answer can bear the line's id.
func readBatchLine(text []byte) (line batchLine, err error) {
	// The arguments are read by the session, which has better words for what is wrong with them.
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))
	if d.PeekKind() != '{' {
		if _, err := d.ReadValue(); err != nil {
			return line, syntaxError(text, err)
		}
		return line, errors.New("it is not a JSON object")
	}
	if _, err := d.ReadToken(); err != nil {
		return line, syntaxError(text, err)
	}
	seen := make(map[string]bool, 4)
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return line, syntaxError(text, err)
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return line, syntaxError(text, err)
		}
		if seen[key] {
			return line, fmt.Errorf("%q is given twice", key)
		}
		seen[key] = true
		if err := line.set(key, value); err != nil {
			return line, err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return line, syntaxError(text, err)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return line, errors.New("something follows the JSON object")
	}
	if line.Tool == "" {
		return line, errors.New(`"tool" is missing`)
	}
	return line, nil
}

func (l *batchLine) set(key string, value jsontext.Value) error {
	switch key {
	case "id":
		l.ID = json.RawMessage(value.Clone())
	case "args":
		l.Args = json.RawMessage(value.Clone())
	case "tool":
		return unquote(key, value, &l.Tool)
	case "agent":
		return unquote(key, value, &l.Agent)
	default:
		return fmt.Errorf("unknown key %q%s", key, nearest.Suggest(key, []string{"id", "tool", "args", "agent"}))
	}
	return nil
}

func unquote(key string, value jsontext.Value, into *string) error {
	if value.Kind() != '"' {
		return fmt.Errorf("%q must be a string", key)
	}
	text, err := jsontext.AppendUnquote(nil, value)
	*into = string(text)
	return err
}

func syntaxError(text []byte, err error) error {
	return errors.New("it is not valid JSON: " + pluginpb.NotJSON(text, err))
}
