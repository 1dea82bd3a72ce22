package hooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/picoclaw/picoclaw/host/session"
)

type object = map[string]json.RawMessage

// inputs are a call's arguments in a form: one object, or one for each file where a call is about several, since
// Claude's tools are about one, and hooks look at its name.
func (f *form) inputs(raw json.RawMessage, dir string) ([]object, error) {
	var args object
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, fmt.Errorf("can't be told of arguments that are no object: %w", err)
	}
	if !f.claude {
		return []object{args}, nil
	}
	whole := forth(f.fields, args, dir)
	var parts []object
	for _, piece := range list(whole["edits"]) {
		file := piece["file_path"]
		if file == nil {
			file = whole["file_path"]
		}
		i := slices.IndexFunc(parts, func(o object) bool { return bytes.Equal(o["file_path"], file) })
		if i < 0 {
			part := object{}
			for name, value := range whole {
				part[name] = value
			}
			if file != nil {
				part["file_path"] = file
			}
			part["edits"] = json.RawMessage("[]")
			parts, i = append(parts, part), len(parts)
		}
		parts[i]["edits"] = encode(append(list(parts[i]["edits"]), piece))
	}
	if len(parts) > 1 {
		return parts, nil
	}
	if len(parts) == 1 && parts[0]["file_path"] != nil {
		whole["file_path"] = parts[0]["file_path"]
	}
	return []object{whole}, nil
}

// forth writes arguments in Claude's form. What has no counterpart keeps its name.
func forth(fields []field, args object, dir string) object {
	out := object{}
	for name, value := range args {
		i := slices.IndexFunc(fields, func(f field) bool { return f.ours == name })
		if i < 0 {
			out[name] = value
		} else if v, ok := fields[i].forth(value, args, dir); ok {
			out[fields[i].theirs] = v
		} else {
			out[name] = value
		}
	}
	return out
}

// back writes an input in the form's words as a call's arguments again. What the hook was shown and has left as it was
// is as it was before.
func (f *form) back(updated json.RawMessage, shown object, raw json.RawMessage) (json.RawMessage, error) {
	if !f.claude {
		return updated, nil
	}
	var input, args object
	if err := json.Unmarshal(updated, &input); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, err
	}
	if args["path"] == nil && args["edits"] != nil && equal(input["file_path"], shown["file_path"]) {
		delete(input, "file_path") // it was put beside the edits for the hook to look at
	}
	out, err := back(f.fields, input, shown, args)
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

func back(fields []field, input, shown, args object) (object, error) {
	out := object{}
	for name, value := range input {
		f := as(name, name)
		if i := slices.IndexFunc(fields, func(f field) bool { return f.theirs == name }); i >= 0 {
			f = fields[i]
		}
		was := args[f.ours]
		if was != nil && equal(shown[name], value) && (f.kind != last || equal(shown["offset"], input["offset"])) {
			out[f.ours] = was
			continue
		}
		v, err := f.back(value, input)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if v != nil {
			out[f.ours] = v
		}
	}
	return out, nil
}

// response is how a call ended, with the names that Claude's tools have for some of it.
func (f *form) response(r *session.Result, input object) map[string]any {
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

func (f field) forth(value json.RawMessage, args object, dir string) (json.RawMessage, bool) {
	switch f.kind {
	case path:
		var name string
		if json.Unmarshal(value, &name) != nil || name == "" || filepath.IsAbs(name) || strings.HasPrefix(name, "~") {
			return value, true
		}
		if strings.Contains(name, "..") { // where that leads depends on links
			return encode(dir + string(filepath.Separator) + name), true
		}
		return encode(filepath.Join(dir, name)), true
	case seconds:
		n, err := strconv.ParseInt(string(value), 10, 32)
		return encode(n * 1000), err == nil
	case inverted:
		b, err := strconv.ParseBool(string(value))
		return encode(!b), err == nil
	case listing:
		var word string
		_ = json.Unmarshal(value, &word)
		there, ok := listings[word]
		return encode(there), ok
	case last:
		end, err := strconv.ParseInt(string(value), 10, 32)
		return encode(end - first(args["start_line"]) + 1), err == nil
	case all:
		return encode(true), string(value) == "0"
	case pieces:
		out := list(value)
		for i, piece := range out {
			out[i] = forth(f.parts, piece, dir)
		}
		return encode(out), out != nil
	}
	return value, true
}

func (f field) back(value json.RawMessage, input object) (json.RawMessage, error) {
	switch f.kind {
	case seconds:
		ms, err := strconv.ParseFloat(string(value), 64)
		return encode((int64(ms) + 999) / 1000), err
	case inverted:
		b, err := strconv.ParseBool(string(value))
		return encode(!b), err
	case listing:
		var word string
		_ = json.Unmarshal(value, &word)
		for ours, theirs := range listings {
			if theirs == word {
				return encode(ours), nil
			}
		}
		return nil, fmt.Errorf("%s is not known", value)
	case last:
		n, err := strconv.ParseInt(string(value), 10, 32)
		return encode(first(input["offset"]) + n - 1), err
	case all:
		if b, err := strconv.ParseBool(string(value)); err != nil || !b {
			return nil, err
		}
		return json.RawMessage("0"), nil
	case pieces:
		out := list(value)
		for i, piece := range out {
			var err error
			if out[i], err = back(f.parts, piece, nil, nil); err != nil {
				return nil, err
			}
		}
		return encode(out), nil
	}
	return value, nil
}

// first is the first line of a reading.
func first(value json.RawMessage) int64 {
	if n, err := strconv.ParseInt(string(value), 10, 32); err == nil {
		return n
	}
	return 1
}

func list(value json.RawMessage) (out []object) {
	_ = json.Unmarshal(value, &out)
	return out
}

func encode(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return data
}

// equal reports whether two values are the same, however they are written.
func equal(a, b json.RawMessage) bool {
	x, y := jsontext.Value(bytes.Clone(a)), jsontext.Value(bytes.Clone(b))
	return x.Canonicalize() == nil && y.Canonicalize() == nil && bytes.Equal(x, y)
}
