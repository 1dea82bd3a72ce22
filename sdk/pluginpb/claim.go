package pluginpb

import (
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// ClaimKey is the schema keyword that marks a claim.
const ClaimKey = "x-picoclaw-claim"

// Claim says that an argument is a path, with its access, or a command. It is part of the schema, so that the host can
// check calls of any tool.
type Claim string

// The claims.
const (
	ClaimRead      Claim = "read"      // a path that is read
	ClaimWrite     Claim = "write"     // a path that is created or changed
	ClaimList      Claim = "list"      // a directory that is listed or searched
	ClaimDelete    Claim = "delete"    // a path that is removed
	ClaimCommand   Claim = "command"   // a command line for a shell
	ClaimCwd       Claim = "cwd"       // the directory that the command beside it starts in
	ClaimStdin     Claim = "stdin"     // what the command beside it reads from its standard input
	ClaimProtected Claim = "protected" // a protected file that the command beside it has to change
	ClaimEnv       Claim = "env"       // an object of strings: what the command beside it finds in its environment
)

// Site is the location of an argument with a claim. Path has property names; "*" stands for every array element.
type Site struct {
	Path  []string
	Claim Claim
}

// Valid reports whether c is a known claim.
func (c Claim) Valid() bool {
	switch c {
	case ClaimRead, ClaimWrite, ClaimList, ClaimDelete, ClaimCommand, ClaimCwd, ClaimStdin, ClaimEnv, ClaimProtected:
		return true
	}
	return false
}

// Claims returns the claims in a tool's input schema, sorted by property name.
func Claims(input *jsonschema.Schema) ([]Site, error) {
	var sites []Site
	err := collectClaims(input, nil, &sites)
	return sites, err
}

func collectClaims(s *jsonschema.Schema, at []string, sites *[]Site) error {
	if s == nil {
		return nil
	}
	if raw, ok := s.Extra[ClaimKey]; ok {
		text, _ := raw.(string)
		claim := Claim(text)
		if !claim.Valid() {
			return fmt.Errorf("the claim %v on %v is not one of read, write, list, delete, command, cwd, stdin, env, protected", raw, at)
		}
		switch {
		case claim == ClaimEnv && s.Type != "object":
			return fmt.Errorf("the claim %q is on %v, which is not an object", claim, at)
		case claim != ClaimEnv && !isString(s):
			return fmt.Errorf("the claim %q is on %v, which is not a string", claim, at)
		}
		*sites = append(*sites, Site{Path: slices.Clone(at), Claim: claim})
	}
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := collectClaims(s.Properties[name], append(at, name), sites); err != nil {
			return err
		}
	}
	return collectClaims(s.Items, append(at, "*"), sites)
}

func isString(s *jsonschema.Schema) bool {
	return s.Type == "string" || slices.Contains(s.Types, "string")
}
