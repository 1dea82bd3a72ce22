package clients

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// index is an element of a list in a key, such as agents.list[0].tools.
var index = lazyregexp.New(`\[(\d+)\]`)

// PlanElement works out what it changes to add a text to a list of picoclaw's own configuration, or of another file of
// JSON with comments. The key is as messages name it, such as agents.list[0].tools.exec.custom_allow_patterns.
func PlanElement(path, key, element string) (*Change, error) {
	change, err := readTarget(path)
	if err != nil {
		return nil, err
	}
	if change.after, err = addElement(change.before, key, element); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return change, nil
}

func addElement(text []byte, key, element string) ([]byte, error) {
	if err := checkNesting(text); err != nil {
		return nil, err
	}
	where := strings.Split(index().ReplaceAllString(key, ".$1"), ".")
	if len(text) > 0 {
		root, err := hujson.Parse(append(text[:len(text):len(text)], '\n'))
		if err != nil {
			return nil, fmt.Errorf("the file is not JSON: %s; %w", strings.TrimPrefix(err.Error(), "hujson: "), errNotEditable)
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
	return editJSON(text, where[:last], []entrySetting{{where[last], []string{element}}})
}
