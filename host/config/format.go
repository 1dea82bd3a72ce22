package config

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"path"
	"path/filepath"
	"regexp/syntax"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/internal/protect"
)

// StringFormat is a constraint on a string value in addition to its type.
type StringFormat string

// The formats.
const (
	PathFormat          StringFormat = "path"     // absolute, or starting with ~ or ~/, which is expanded
	AbsoluteFormat      StringFormat = "absolute" // absolute path, or empty
	TemplateFormat      StringFormat = "template" // absolute, or starting with {{workspace}}
	RegexpFormat        StringFormat = "regexp"   // valid RE2
	GlobFormat          StringFormat = "glob"     // valid for path.Match
	IDFormat            StringFormat = "id"       // [a-z0-9][a-z0-9_-]*, at most 64 bytes
	VariableFormat      StringFormat = "variable" // [A-Za-z_][A-Za-z0-9_]*
	WorkspacePathFormat StringFormat = "inside"   // a path below a workspace, as accepted by [protect.Check]
	LowerFormat         StringFormat = "lower"    // upper case is accepted too
	WitnessFormat       StringFormat = "witness"  // a [PathFormat], or an http or https URL
	URLFormat           StringFormat = "url"      // an http or https URL
)

var (
	idPattern       = lazyregexp.New(`^[a-z0-9][a-z0-9_-]*$`)
	variablePattern = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	sizePattern     = lazyregexp.New(`(?i)^(\d+) ?(?:([KMGT])i?)?B?$`)
)

// idSchema is the JSON Schema pattern for ids. IsValidID does not use it, because compiling its counted repetition
// would dominate the start-up time.
const idSchema = `^[a-z0-9][a-z0-9_-]{0,63}$`

// IsValidID reports whether a text is a valid id, such as an agent's.
func IsValidID(s string) bool { return len(s) <= 64 && idPattern().MatchString(s) }

// WorkspaceTemplate is the placeholder for the agent's workspace in a module's constraints.
const WorkspaceTemplate = "{{workspace}}"

// normalizeString checks s against the format and returns its normalised form. userHome replaces ~.
func (f StringFormat) normalizeString(s, userHome string) (string, error) {
	if f == AbsoluteFormat && s == "" {
		return "", nil // as if it were not set
	}
	if f != "" && s == "" {
		return "", errors.New("is empty")
	}
	if f != "" && strings.ContainsRune(s, 0) {
		return "", errors.New("contains a NUL byte")
	}
	switch f {
	case PathFormat:
		return expandPath(s, userHome)
	case WitnessFormat, URLFormat:
		web := strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
		if f == WitnessFormat && !web {
			return expandPath(s, userHome)
		}
		if u, err := url.Parse(s); err != nil || u.Host == "" || !web {
			return "", errors.New("is no http or https URL")
		}
	case AbsoluteFormat:
		if !filepath.IsAbs(s) {
			return "", fmt.Errorf("%q is not an absolute path", s)
		}
		return filepath.Clean(s), nil
	case TemplateFormat:
		return s, checkPathTemplate(s)
	case RegexpFormat:
		if _, err := syntax.Parse(s, syntax.Perl); err != nil {
			return "", fmt.Errorf("%q is not a regular expression: %s", s,
				strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		}
	case GlobFormat:
		if _, err := path.Match(s, ""); err != nil {
			return "", fmt.Errorf("%q is not a name or a glob", s)
		}
	case IDFormat:
		if !IsValidID(s) {
			return "", fmt.Errorf("%q is not an id: small letters, digits, _ and -, a letter or digit first, at most 64", s)
		}
	case WorkspacePathFormat:
		return s, protect.ValidatePattern(s)
	case LowerFormat:
		if s == strings.ToUpper(s) {
			return strings.ToLower(s), nil
		}
	case VariableFormat:
		if !variablePattern().MatchString(s) {
			return "", fmt.Errorf("%q is not the name of a variable", s)
		}
	}
	return s, nil
}

// expandPath replaces ~ and cleans the path. It returns an error for a relative path.
func expandPath(s, userHome string) (string, error) {
	rest, tilde := strings.CutPrefix(s, "~")
	switch {
	case tilde && (rest == "" || rest[0] == '/' || rest[0] == filepath.Separator):
		if userHome == "" {
			return "", fmt.Errorf("%q needs a home directory, and there is none: HOME is not set", s)
		}
		return filepath.Join(userHome, rest), nil
	case tilde:
		return "", fmt.Errorf("%q names another user's home, which is not supported", s)
	case !filepath.IsAbs(s):
		return "", fmt.Errorf("%q is not an absolute path", s)
	}
	return filepath.Clean(s), nil
}

func checkPathTemplate(s string) error {
	rest, found := strings.CutPrefix(s, WorkspaceTemplate)
	switch {
	case strings.Contains(rest, "{{"):
		return fmt.Errorf("%q contains an unknown template; the only one is %s, at the start", s, WorkspaceTemplate)
	case found && rest != "" && rest[0] != '/':
		return fmt.Errorf("%q needs a / after %s", s, WorkspaceTemplate)
	case !found && !filepath.IsAbs(s):
		return fmt.Errorf("%q is not an absolute path and does not start with %s", s, WorkspaceTemplate)
	}
	return nil
}

// ParseSize parses a size in bytes: a whole number, optionally followed by B, KB, MB, GB or TB. A KB, or KiB, is 1024
// bytes. The size is at least 1 byte.
func ParseSize(s string) (int64, error) {
	parts := sizePattern().FindStringSubmatch(s)
	if parts == nil {
		return 0, fmt.Errorf(`%q is not a size such as "50MB"`, s)
	}
	shift := 0
	if unit := strings.ToUpper(parts[2]); unit != "" {
		shift = 10 * (1 + strings.Index("KMGT", unit))
	}
	n, err := strconv.ParseInt(parts[1], 10, 64)
	switch {
	case err != nil || n > math.MaxInt64>>shift:
		return 0, fmt.Errorf("%q is more bytes than fit in 64 bits", s)
	case n == 0:
		return 0, errors.New("a size of 0 would allow nothing")
	}
	return n << shift, nil
}
