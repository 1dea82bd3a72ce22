package clients

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// keyIndex matches the index of a list element in a key, such as [0] in agents.list[0].tools.
var keyIndex = lazyregexp.New(`\[(\d+)\]`)

// PlanListAppend plans to append a string to a list in picoclaw's configuration or another JSON file with comments.
// The key is dotted, such as agents.list[0].tools.exec.custom_allow_patterns.
func PlanListAppend(path, key, element string) (*FileChange, error) {
	change, err := newFileChange(path)
	if err != nil {
		return nil, err
	}
	if change.after, err = appendListElement(change.before, key, element); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return change, nil
}

// appendListElement returns the text of a file with a string appended to the list at key.
func appendListElement(text []byte, key, element string) ([]byte, error) {
	where := strings.Split(keyIndex().ReplaceAllString(key, ".$1"), ".")
	if len(text) > 0 {
		root, err := parseJSONC(text)
		if err != nil {
			return nil, err
		}
		list := root.Find("/" + strings.Join(where, "/"))
		if list != nil {
			if _, is := list.Value.(*hujson.Array); !is {
				return nil, fmt.Errorf("%s is not a list; %w", key, errNotEditable)
			}
			patch, err := json.Marshal([]map[string]string{
				{"op": "add", "path": "/" + strings.Join(where, "/") + "/-", "value": element}})
			if err != nil {
				return nil, err
			}
			if err := root.Patch(patch); err != nil {
				return nil, fmt.Errorf("%w; %w", err, errNotEditable)
			}
			packed := root.Pack()
			return packed[:len(packed)-1], nil // without the line end that was added
		}
	}
	last := len(where) - 1
	return setJSONFields(text, where[:last], []entryField{{where[last], []string{element}}})
}
