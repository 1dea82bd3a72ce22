package pluginpb

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// mostSubschemas is how many schemas there may be in one when each reference is replaced by what it refers to: whoever
// validates goes through all of them, perhaps for each part of a value.
const mostSubschemas = 20_000

// CheckBounds says why a schema can't be validated by in bounded time, if it can't: one that refers to itself, perhaps
// by others, or that is a small text for a huge schema.
func (s *Schema) CheckBounds() error {
	var root any
	if err := json.Unmarshal(s.text, &root); err != nil {
		return err
	}
	b := bounds{root: root, sizes: map[string]int{}}
	_, err := b.size(root)
	return err
}

// bounds counts the schemas in a schema.
type bounds struct {
	root  any
	sizes map[string]int // by reference; 0 while it is counted
}

func (b *bounds) size(v any) (n int, err error) {
	add := func(more int, moreErr error) bool {
		if n += more; moreErr == nil && n > mostSubschemas {
			moreErr = fmt.Errorf("with its references it has more than %d schemas", mostSubschemas)
		}
		err = moreErr
		return err == nil
	}
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			if !add(b.size(one)) {
				return n, err
			}
		}
	case map[string]any:
		n = 1
		for name, one := range v {
			switch name {
			case "enum", "const", "default", "examples":
				continue // values
			case "$ref", "$dynamicRef", "$recursiveRef":
				if ref, ok := one.(string); ok {
					if !add(b.reference(ref)) {
						return n, err
					}
					continue
				}
			}
			if !add(b.size(one)) {
				return n, err
			}
		}
	}
	return n, nil
}

// reference counts the schemas in what a reference refers to.
func (b *bounds) reference(ref string) (int, error) {
	if n, known := b.sizes[ref]; known {
		if n == 0 {
			return 0, fmt.Errorf("it refers to itself by %q", ref)
		}
		return n, nil
	}
	pointer, local := strings.CutPrefix(ref, "#")
	if pointer, _ = url.PathUnescape(pointer); !local || pointer != "" && !strings.HasPrefix(pointer, "/") {
		return 0, fmt.Errorf("it refers to %q; references of the form #/$defs/name alone are known", ref)
	}
	at := b.root
	for _, part := range strings.Split(pointer, "/")[1:] {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch within := at.(type) {
		case map[string]any:
			at = within[part]
		case []any:
			if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(within) {
				at = within[i]
				continue
			}
			at = nil
		default:
			at = nil
		}
	}
	if at == nil {
		return 0, fmt.Errorf("it refers to %q, which is not there", ref)
	}
	b.sizes[ref] = 0
	n, err := b.size(at)
	b.sizes[ref] = max(n, 1)
	return n, err
}
