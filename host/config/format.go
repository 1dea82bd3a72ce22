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

// Format is a condition on a string beyond its type.
type Format string

// The formats.
const (
	Path         Format = "path"     // absolute, or ~ or ~/ in front, which is filled in
	Absolute     Format = "absolute" // absolute
	Template     Format = "template" // absolute, or {{workspace}} in front
	Regexp       Format = "regexp"   // compiles as RE2
	Glob         Format = "glob"     // compiles for path.Match
	ID           Format = "id"       // [a-z0-9][a-z0-9_-]*, at most 64 bytes
	VariableName Format = "variable" // [A-Za-z_][A-Za-z0-9_]*
	Inside       Format = "inside"   // a path below a workspace, as [protect.Check] takes it
	Lower        Format = "lower"    // all in capitals means the same as in small letters
	Witness      Format = "witness"  // a [Path], or an http or https URL
	URL          Format = "url"      // an http or https URL
)

var (
	idPattern       = lazyregexp.New(`^[a-z0-9][a-z0-9_-]*$`)
	variablePattern = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	sizePattern     = lazyregexp.New(`(?i)^(\d+) ?(?:([KMGT])i?)?B?$`)
)

// idSchema is the same as isID says, for a JSON Schema. To compile the repetition that is counted in it takes longer
// than all else at a start.
const idSchema = `^[a-z0-9][a-z0-9_-]{0,63}$`

// IsID reports whether an agent may be called so.
func IsID(s string) bool { return isID(s) }

func isID(s string) bool { return len(s) <= 64 && idPattern().MatchString(s) }

// WorkspaceTemplate is what stands for the agent's workspace in a module's constraints.
const WorkspaceTemplate = "{{workspace}}"

// apply checks s against the format and returns it as it will be used. userHome replaces ~.
func (f Format) apply(s, userHome string) (string, error) {
	if f != "" && s == "" {
		return "", errors.New("is empty")
	}
	if f != "" && strings.ContainsRune(s, 0) {
		return "", errors.New("holds a NUL byte")
	}
	switch f {
	case Path:
		return absolutePath(s, userHome)
	case Witness, URL:
		web := strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
		if f == Witness && !web {
			return absolutePath(s, userHome)
		}
		if u, err := url.Parse(s); err != nil || u.Host == "" || !web {
			return "", errors.New("is no http or https URL")
		}
	case Absolute:
		if !filepath.IsAbs(s) {
			return "", fmt.Errorf("%q is not an absolute path", s)
		}
		return filepath.Clean(s), nil
	case Template:
		return s, checkTemplate(s)
	case Regexp:
		if _, err := syntax.Parse(s, syntax.Perl); err != nil {
			return "", fmt.Errorf("%q is not a regular expression: %s", s,
				strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		}
	case Glob:
		if _, err := path.Match(s, ""); err != nil {
			return "", fmt.Errorf("%q is not a name or a glob", s)
		}
	case ID:
		if !isID(s) {
			return "", fmt.Errorf("%q is not an id: small letters, digits, _ and -, a letter or digit first, at most 64", s)
		}
	case Inside:
		return s, protect.Check(s)
	case Lower:
		if s == strings.ToUpper(s) {
			return strings.ToLower(s), nil
		}
	case VariableName:
		if !variablePattern().MatchString(s) {
			return "", fmt.Errorf("%q is not the name of a variable", s)
		}
	}
	return s, nil
}

// absolutePath fills in ~ and cleans the path.
func absolutePath(s, userHome string) (string, error) {
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

func checkTemplate(s string) error {
	rest, found := strings.CutPrefix(s, WorkspaceTemplate)
	switch {
	case strings.Contains(rest, "{{"):
		return fmt.Errorf("%q holds an unknown template; the only one is %s, in front", s, WorkspaceTemplate)
	case found && rest != "" && rest[0] != '/':
		return fmt.Errorf("%q needs a / after %s", s, WorkspaceTemplate)
	case !found && !filepath.IsAbs(s):
		return fmt.Errorf("%q is not an absolute path and does not start with %s", s, WorkspaceTemplate)
	}
	return nil
}

// ParseSize parses a size in bytes: a whole number, with or without B, KB, MB, GB or TB behind it. A KB is 1024
// bytes, also when it is written KiB. The size is at least 1 byte.
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
