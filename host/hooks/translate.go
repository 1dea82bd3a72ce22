package hooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/picoclaw/picoclaw/host/session"
)

type jsonObject = map[string]json.RawMessage

// toClaudeInputs converts a call's arguments to the alias's form. A call that edits several files becomes one input per
// file, since Claude Code's tools edit one file each.
func (f *toolAlias) toClaudeInputs(raw json.RawMessage, dir string) ([]jsonObject, error) {
	var args jsonObject
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, fmt.Errorf("can't be sent arguments that are not a JSON object: %w", err)
	}
	if !f.claude {
		return []jsonObject{args}, nil
	}
	whole := argsToClaude(f.args, args, dir)
	var parts []jsonObject
	for _, edit := range decodeObjects(whole["edits"]) {
		file := edit["file_path"]
		if file == nil {
			file = whole["file_path"]
		}
		i := slices.IndexFunc(parts, func(o jsonObject) bool { return bytes.Equal(o["file_path"], file) })
		if i < 0 {
			part := jsonObject{}
			maps.Copy(part, whole)
			if file != nil {
				part["file_path"] = file
			}
			part["edits"] = json.RawMessage("[]")
			parts, i = append(parts, part), len(parts)
		}
		parts[i]["edits"] = encodeJSON(append(decodeObjects(parts[i]["edits"]), edit))
	}
	if len(parts) > 1 {
		return parts, nil
	}
	if len(parts) == 1 && parts[0]["file_path"] != nil {
		whole["file_path"] = parts[0]["file_path"]
	}
	return []jsonObject{whole}, nil
}

// argsToClaude converts arguments to Claude Code's form. Arguments without a counterpart keep their names.
func argsToClaude(fields []claudeArgMapping, args jsonObject, dir string) jsonObject {
	out := jsonObject{}
	for name, value := range args {
		i := slices.IndexFunc(fields, func(f claudeArgMapping) bool { return f.ours == name })
		if i >= 0 {
			if v, ok := fields[i].valueToClaude(value, args, dir); ok {
				name, value = fields[i].theirs, v
			}
		}
		out[name] = value
	}
	return out
}

// fromClaudeInput converts an input that a hook changed back to a call's arguments. Values that the hook left unchanged
// keep their original form.
func (f *toolAlias) fromClaudeInput(updated json.RawMessage, shown jsonObject, raw json.RawMessage) (json.RawMessage, error) {
	if !f.claude {
		return updated, nil
	}
	var input, args jsonObject
	if err := json.Unmarshal(updated, &input); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, err
	}
	if args["path"] == nil && args["edits"] != nil && equalJSON(input["file_path"], shown["file_path"]) {
		delete(input, "file_path") // toClaudeInputs added it to show the file name
	}
	out, err := argsFromClaude(f.args, input, shown, args)
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// argsFromClaude converts an input in Claude Code's form to arguments.
func argsFromClaude(fields []claudeArgMapping, input, shown, args jsonObject) (jsonObject, error) {
	out := jsonObject{}
	for name, value := range input {
		f := sameValueMapping(name, name)
		if i := slices.IndexFunc(fields, func(f claudeArgMapping) bool { return f.theirs == name }); i >= 0 {
			f = fields[i]
		}
		original := args[f.ours]
		if original != nil && equalJSON(shown[name], value) && (f.conversion != endLineToCount || equalJSON(shown["offset"], input["offset"])) {
			out[f.ours] = original
			continue
		}
		v, err := f.valueFromClaude(value, input)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if v != nil {
			out[f.ours] = v
		}
	}
	return out, nil
}

// toClaudeResponse returns the "tool_response" of a call, with the fields of Claude Code's tools.
func (f *toolAlias) toClaudeResponse(r *session.Result, input jsonObject) map[string]any {
	out := map[string]any{"success": r.Err == nil, "content": r.Text}
	if r.Structured != nil {
		out["structured"] = r.Structured
	}
	if f.claude && f.name == "Bash" {
		out["stdout"], out["stderr"], out["interrupted"] = r.Text, "", false
	}
	if name := input["file_path"]; f.claude && name != nil {
		out["filePath"] = name
	}
	return out
}

// valueToClaude converts a value to Claude Code's form; false if that is impossible.
func (f claudeArgMapping) valueToClaude(value json.RawMessage, args jsonObject, dir string) (json.RawMessage, bool) {
	switch f.conversion {
	case absolutePath:
		var name string
		if json.Unmarshal(value, &name) != nil || name == "" || filepath.IsAbs(name) || strings.HasPrefix(name, "~") {
			return value, true
		}
		if strings.Contains(name, "..") { // do not clean: symlinks may change where ".." leads
			return encodeJSON(dir + string(filepath.Separator) + name), true
		}
		return encodeJSON(filepath.Join(dir, name)), true
	case secondsToMillis:
		n, err := strconv.ParseInt(string(value), 10, 32)
		return encodeJSON(n * 1000), err == nil
	case negatedBool:
		b, err := strconv.ParseBool(string(value))
		return encodeJSON(!b), err == nil
	case outputMode:
		var word string
		_ = json.Unmarshal(value, &word)
		there, ok := outputModes[word]
		return encodeJSON(there), ok
	case endLineToCount:
		end, err := strconv.ParseInt(string(value), 10, 32)
		return encodeJSON(end - parseReadStartLine(args["start_line"]) + 1), err == nil
	case zeroCountToAll:
		return encodeJSON(true), string(value) == "0"
	case editList:
		out := decodeObjects(value)
		for i, piece := range out {
			out[i] = argsToClaude(f.elements, piece, dir)
		}
		return encodeJSON(out), out != nil
	}
	return value, true
}

// valueFromClaude converts a value in Claude Code's form back. A nil result omits the argument.
func (f claudeArgMapping) valueFromClaude(value json.RawMessage, input jsonObject) (json.RawMessage, error) {
	switch f.conversion {
	case secondsToMillis:
		ms, err := strconv.ParseFloat(string(value), 64)
		return encodeJSON((int64(ms) + 999) / 1000), err
	case negatedBool:
		b, err := strconv.ParseBool(string(value))
		return encodeJSON(!b), err
	case outputMode:
		var word string
		_ = json.Unmarshal(value, &word)
		for ours, theirs := range outputModes {
			if theirs == word {
				return encodeJSON(ours), nil
			}
		}
		return nil, fmt.Errorf("%s is not known", value)
	case endLineToCount:
		n, err := strconv.ParseInt(string(value), 10, 32)
		return encodeJSON(parseReadStartLine(input["offset"]) + n - 1), err
	case zeroCountToAll:
		if b, err := strconv.ParseBool(string(value)); err != nil || !b {
			return nil, err
		}
		return json.RawMessage("0"), nil
	case editList:
		out := decodeObjects(value)
		for i, piece := range out {
			var err error
			if out[i], err = argsFromClaude(f.elements, piece, nil, nil); err != nil {
				return nil, err
			}
		}
		return encodeJSON(out), nil
	}
	return value, nil
}

// parseReadStartLine returns the start line of a read; 1 if the value is not a number.
func parseReadStartLine(value json.RawMessage) int64 {
	if n, err := strconv.ParseInt(string(value), 10, 32); err == nil {
		return n
	}
	return 1
}

// decodeObjects decodes an array of objects; nil for another value.
func decodeObjects(value json.RawMessage) (out []jsonObject) {
	_ = json.Unmarshal(value, &out)
	return out
}

// encodeJSON encodes a value; null if it can't be encoded.
func encodeJSON(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return data
}

func equalJSON(a, b json.RawMessage) bool {
	x, y := jsontext.Value(bytes.Clone(a)), jsontext.Value(bytes.Clone(b))
	return x.Canonicalize() == nil && y.Canonicalize() == nil && bytes.Equal(x, y)
}
