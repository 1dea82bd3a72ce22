package pluginpb

import (
	"fmt"
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

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
