package pluginpb

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema is a JSON Schema in a manifest. It is parsed on first use, because a host reads many manifests at start. It is
// safe for concurrent use.
type Schema struct {
	text  json.RawMessage
	parse func() (*jsonschema.Schema, error)
}

// NewSchema converts a parsed schema.
func NewSchema(s *jsonschema.Schema) (*Schema, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return &Schema{text: text, parse: func() (*jsonschema.Schema, error) { return s, nil }}, nil
}

// Parse returns the parsed schema. Do not modify it.
func (s *Schema) Parse() (*jsonschema.Schema, error) {
	if s == nil || s.parse == nil {
		return nil, errors.New("there is no schema")
	}
	return s.parse()
}

// MarshalJSON returns the original text of the schema.
func (s *Schema) MarshalJSON() ([]byte, error) { return s.text, nil }

// UnmarshalJSON stores the text of a schema, to be parsed on first use.
func (s *Schema) UnmarshalJSON(text []byte) error {
	s.text = slices.Clone(text)
	s.parse = sync.OnceValues(func() (*jsonschema.Schema, error) {
		var parsed jsonschema.Schema
		err := json.Unmarshal(s.text, &parsed)
		return &parsed, err
	})
	return nil
}

// WithoutClaims returns the schema for agents, without the claims for the host.
func (s *Schema) WithoutClaims() (json.RawMessage, error) {
	if s == nil {
		return nil, errors.New("there is no schema")
	}
	var schema any
	if err := json.Unmarshal(s.text, &schema); err != nil {
		return nil, err
	}
	dropClaims(schema)
	return json.Marshal(schema)
}

func dropClaims(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, ClaimKey)
		for _, below := range v {
			dropClaims(below)
		}
	case []any:
		for _, below := range v {
			dropClaims(below)
		}
	}
}

// maxSubschemas is the maximum number of subschemas with expanded references, because validation may visit all of them
// repeatedly.
const maxSubschemas = 20_000

// CheckValidationCost returns an error for a schema that is too expensive to validate: a recursive schema, or a small
// text that expands to a huge one.
func (s *Schema) CheckValidationCost() error {
	var root any
	if err := json.Unmarshal(s.text, &root); err != nil {
		return err
	}
	b := subschemaCounter{root: root, sizes: map[string]int{}}
	_, err := b.countSubschemas(root)
	return err
}

// subschemaCounter counts subschemas with expanded references.
type subschemaCounter struct {
	root  any
	sizes map[string]int // by reference; 0 during the count
}

func (b *subschemaCounter) countSubschemas(v any) (n int, err error) {
	add := func(more int, moreErr error) bool {
		if n += more; moreErr == nil && n > maxSubschemas {
			moreErr = fmt.Errorf("with its references it has more than %d schemas", maxSubschemas)
		}
		err = moreErr
		return err == nil
	}
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			if !add(b.countSubschemas(one)) {
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
					if !add(b.countReferenced(ref)) {
						return n, err
					}
					continue
				}
			}
			if !add(b.countSubschemas(one)) {
				return n, err
			}
		}
	}
	return n, nil
}

func (b *subschemaCounter) countReferenced(ref string) (int, error) {
	if n, known := b.sizes[ref]; known {
		if n == 0 {
			return 0, fmt.Errorf("it refers to itself by %q", ref)
		}
		return n, nil
	}
	pointer, local := strings.CutPrefix(ref, "#")
	if pointer, _ = url.PathUnescape(pointer); !local || pointer != "" && !strings.HasPrefix(pointer, "/") {
		return 0, fmt.Errorf("it refers to %q; only references of the form #/$defs/name are supported", ref)
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
		return 0, fmt.Errorf("it refers to %q, which does not exist", ref)
	}
	b.sizes[ref] = 0
	n, err := b.countSubschemas(at)
	b.sizes[ref] = max(n, 1)
	return n, err
}

// ClaimKey is the schema keyword whose value is an ArgumentClaim.
const ClaimKey = "x-picoclaw-claim"

// ArgumentClaim is the role of an argument in the host's checks: a path with its access, or a command or a part of its
// environment. It is a keyword of the input schema, so that the host can check the calls of any tool.
type ArgumentClaim string

// The known claims.
const (
	ClaimRead      ArgumentClaim = "read"      // a path that is read
	ClaimWrite     ArgumentClaim = "write"     // a path that is created or changed
	ClaimList      ArgumentClaim = "list"      // a directory that is listed or searched
	ClaimDelete    ArgumentClaim = "delete"    // a path that is removed
	ClaimCommand   ArgumentClaim = "command"   // a command line for a shell
	ClaimCwd       ArgumentClaim = "cwd"       // working directory of the command in the same object
	ClaimStdin     ArgumentClaim = "stdin"     // standard input of the command in the same object
	ClaimProtected ArgumentClaim = "protected" // protected file that the command in the same object must change
	ClaimEnv       ArgumentClaim = "env"       // environment variables of the command in the same object: an object of strings
)

// ClaimedArgument is the location of an argument with a claim. Path consists of property names; "*" is any array
// element.
type ClaimedArgument struct {
	Path  []string
	Claim ArgumentClaim
}

// IsValid reports whether c is a known claim.
func (c ArgumentClaim) IsValid() bool {
	return slices.Contains([]ArgumentClaim{ClaimRead, ClaimWrite, ClaimList, ClaimDelete, ClaimCommand, ClaimCwd, ClaimStdin,
		ClaimEnv, ClaimProtected}, c)
}

// FindClaims returns the arguments with a claim in a tool's input schema, sorted by property name.
func FindClaims(input *jsonschema.Schema) ([]ClaimedArgument, error) {
	var sites []ClaimedArgument
	err := collectClaims(input, nil, &sites)
	return sites, err
}

func collectClaims(s *jsonschema.Schema, at []string, sites *[]ClaimedArgument) error {
	if s == nil {
		return nil
	}
	if raw, ok := s.Extra[ClaimKey]; ok {
		text, _ := raw.(string)
		claim := ArgumentClaim(text)
		if !claim.IsValid() {
			return fmt.Errorf("the claim %v on %v is not one of read, write, list, delete, command, cwd, stdin, env, protected", raw, at)
		}
		switch {
		case claim == ClaimEnv && s.Type != "object":
			return fmt.Errorf("the claim %q is on %v, which is not an object", claim, at)
		case claim != ClaimEnv && !slices.Contains(schemaTypes(s), "string"):
			return fmt.Errorf("the claim %q is on %v, which is not a string", claim, at)
		}
		*sites = append(*sites, ClaimedArgument{Path: slices.Clone(at), Claim: claim})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if err := collectClaims(s.Properties[name], append(at, name), sites); err != nil {
			return err
		}
	}
	return collectClaims(s.Items, append(at, "*"), sites)
}
