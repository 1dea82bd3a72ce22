// Package redact removes secrets from texts that are shown or stored: audit entries, logs, settings.
//
// It recognises secrets by the name of a value (password, api_key, GITHUB_TOKEN …) and by their form (tokens of
// well-known services, private keys, credentials in URLs, headers and assignments). It misses secrets with neither a
// name nor a form: never pass them to a tool.
//
// The package must not know where values come from or who reads them.
package redact

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// Mark is the text that replaces a secret.
const Mark = "[secret cut]"

// secretName matches names of secrets by their ends, but not names such as token_percent, max_tokens or password_file.
var secretName = lazyregexp.New(`(?i)(?:pass(?:wor[dt]|wd|phrase)|secret(?:[_-]?id)?|token|credentials?|authorization|cookies?|` +
	`(?:api|auth|access|private|secret|signing|encryption|master|account|subscription)[_-]?key)` +
	`(?:[_-]?(?:value|hash|base64|confirm(?:ation)?|new|old|\d+))?$`)

// secretVariable matches further names of environment variables, which must be followed by "=".
var secretVariable = lazyregexp.New(`^(?:[A-Z][A-Z0-9_]*_(?:PASS|KEY|PW|PWD|PIN|AUTH)|SSHPASS)$`)

// IsSecretName reports whether a value with this name is probably a secret.
func IsSecretName(name string) bool {
	return secretName().MatchString(name[strings.LastIndexByte(name, '.')+1:])
}

// RedactValue returns a copy of v without secrets. If name is a secret's, it replaces whole strings.
func RedactValue(name string, v any) any {
	switch v := v.(type) {
	case string:
		if v != "" && IsSecretName(name) {
			return Mark
		}
		return RedactText(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = RedactValue(key, value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = RedactValue(name, item)
		}
		return out
	case []map[string]any:
		out := make([]map[string]any, len(v))
		for i, item := range v {
			out[i] = RedactValue(name, item).(map[string]any)
		}
		return out
	case []string:
		out := make([]string, len(v))
		for i, item := range v {
			out[i] = RedactText(item)
		}
		return out
	case nil, bool:
		return v
	}
	if IsSecretName(name) {
		return Mark // a number, such as a PIN
	}
	return v
}

// secretPattern matches a form of secrets. The last group of the pattern is the secret.
type secretPattern struct {
	hints   []string // lower-case; every match contains at least one of them
	pattern *regexp.Regexp
}

// secretPatterns returns the patterns, compiled on first use.
var secretPatterns = sync.OnceValue(func() (all []secretPattern) {
	for _, one := range []struct{ hints, pattern string }{
		{"private key", `(-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z))`},
		{"bearer", `(?i)\bbearer\s+([a-z0-9._~+/=-]{12,})`},
		// A token in place of a user, and a password behind one.
		{"http", `(?i)\bhttps?://([^\s/:@"']+)(?::(?:x-oauth-basic)?)?@`},
		{"://", `[a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@"']*:([^\s/@"']+)@`},
		// A user with a password, not one with a group's number.
		{"-u", `(?:^|\s)(?:-[uU]|--user|--proxy-user)[ =]\s*["']?[\w.@+-]+:([^\s"'/]*[^\s"'/0-9][^\s"'/]*)`},
		{"curl", `\bcurl\s(?:[^|;&]*?\s)?-[a-zA-Z]*[uU] ?["']?[\w.@+-]+:([^\s"']+)`},
		{"--proxy-user,--user", `\s--(?:proxy-)?user[ =]\s*["']?[\w.@+-]+:([^\s"']+)`},
		// Short options of commands.
		{"login", `\b(?:docker|podman|nerdctl|buildah|skopeo|crane|oras|helm|oc|az|cf)\b[^|;&\n]*?\slogin\s(?:[^|;&\n]*?\s)?-p[ =]?["']?([^\s"'-][^\s"']*)`},
		{"mysql,mariadb", `\b(?:mysql|mariadb)[\w-]*\s(?:[^|;&]*?\s)?-p["']?([^\s"'][^\s"']*)`},
		{"sshpass", `\bsshpass\s+-p\s*["']?([^\s"']+)`},
		{"redis-cli", `\bredis-cli\s(?:[^|;&]*?\s)?(?:-a|--pass)[ =]?["']?([^\s"'-][^\s"']*)`},
		{"mongo", `\bmongo\w*\s(?:[^|;&]*?\s)?-p\s+["']?([^\s"'-][^\s"']*)`},
		{"ldap", `\bldap\w+\s(?:[^|;&]*?\s)?-w\s*["']?([^\s"'-][^\s"']*)`},
		{"zip,sqlcmd,ipmitool", `\b(?:un)?(?:zip|sqlcmd|ipmitool)\s(?:[^|;&]*?\s)?-P\s*["']?([^\s"'-][^\s"']*)`},
		{"pass:", `\s-pass(?:in|out)\s+["']?pass:([^\s"']+)`},
		{"sk-,gh,glpat-,xox,akia,asia,aiza,npm_,eyj,pypi-,hf_,sk_live_,rk_live_",
			`\b(sk-[A-Za-z0-9_-]{16,}|(?:sk|rk)_live_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|` +
				`glpat-[\w-]{16,}|xox[abeoprs]-[\w-]{10,}|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{30,}|npm_[A-Za-z0-9]{30,}|` +
				`pypi-[\w-]{30,}|hf_[A-Za-z0-9]{30,}|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]+)`},
	} {
		all = append(all, secretPattern{strings.Split(one.hints, ","), regexp.MustCompile(one.pattern)})
	}
	return all
})

// RedactText returns s with recognised secrets replaced by Mark.
func RedactText(s string) string {
	if len(s) < 8 {
		return s
	}
	lower := strings.ToLower(s)
	has := func(hints []string) bool {
		return slices.ContainsFunc(hints, func(hint string) bool { return strings.Contains(lower, hint) })
	}
	for _, shape := range secretPatterns() {
		if has(shape.hints) {
			s = redactMatches(s, shape.pattern, func(at []int) (int, int) { return at[len(at)-2], at[len(at)-1] })
		}
	}
	if has(nameHints) {
		s = redactMatches(s, namedPattern(), func(at []int) (int, int) { return namedSecretRange(s, at) })
	}
	return s
}

// redactMatches replaces a part of each match by Mark. value returns the range of that part, empty for none.
func redactMatches(s string, pattern *regexp.Regexp, value func(match []int) (from, to int)) string {
	var b strings.Builder
	end := 0
	for _, match := range pattern.FindAllStringSubmatchIndex(s, -1) {
		from, to := value(match)
		if from >= to || from < end || strings.HasPrefix(s[from:], Mark) {
			continue
		}
		b.WriteString(s[end:from] + Mark)
		end = to
	}
	return b.String() + s[end:]
}

// nameHints makes the search fast: every secret's name contains one of these texts, so other texts need no search.
var nameHints = []string{"pass", "secret", "token", "key", "credential", "authorization", "cookie", "_pw", "_pin=", "_auth="}

// namedPattern matches a name and the separator before its value: NAME=value, "name": "value", --name value.
var namedPattern = lazyregexp.New(`([A-Za-z_][\w.-]*)(\\?["']?\s*[=:]\s*|\s+)`)

// Values after a name.
var (
	doubleQuoted  = lazyregexp.New(`^"((?:[^"\\]|\\(?s:.))*)`)
	escapedQuoted = lazyregexp.New(`^\\"((?:[^"\\]|\\[^"])*)`)
	singleQuoted  = lazyregexp.New(`^'([^']*)`)
	bare          = lazyregexp.New(`^([^\s"'\\&;|\[{<(=-](?:\\.|[^\s"'\\&;|])*)`)
	restOfLine    = lazyregexp.New(`^([^\s"'\[][^"'\n]*)`)
	scheme        = lazyregexp.New(`^(?i:basic|bearer|digest|token|apikey|negotiate)\s+`)
	letters       = lazyregexp.New(`^[a-zA-Z]+$`)
)

// namedSecretRange returns the byte range of the value after a name such as "password"; 0, 0 if the name is not that of
// a secret. at has the submatch indexes of the name.
func namedSecretRange(s string, at []int) (from, to int) {
	name, separator, before := s[at[2]:at[3]], s[at[4]:at[5]], s[:at[2]]
	assigned, header := strings.ContainsAny(separator, "=:"), strings.Contains(separator, ":")
	variable := strings.TrimSpace(separator) == "=" && secretVariable().MatchString(name)
	option := strings.HasSuffix(before, "-") || strings.HasSuffix(before, "configure set ")
	switch {
	case !IsSecretName(name) && !variable && (!option || !strings.EqualFold(name, "pass")):
		return 0, 0
	case !assigned && !option, strings.HasSuffix(before, "/"): // prose or a file name
		return 0, 0
	}
	from = at[5]
	rest := s[from:]
	opened := before != "" && strings.ContainsAny(before[len(before)-1:], `"'`) && !strings.ContainsAny(separator, `"'`)
	lowered := strings.ToLower(name)
	long := strings.HasSuffix(lowered, "authorization") || strings.HasSuffix(lowered, "cookie")
	var value []int
	switch {
	case header && opened: // 'Name: value', up to the same quote
		value = []int{0, 0, 0, len(rest)}
		if end := strings.IndexAny(rest, before[len(before)-1:]+"\n"); end >= 0 {
			value[3] = end - strings.Count(rest[max(end-1, 0):end], `\`)
		}
	case strings.HasPrefix(rest, `\"`):
		value = escapedQuoted().FindStringSubmatchIndex(rest)
	case strings.HasPrefix(rest, `"`):
		value = doubleQuoted().FindStringSubmatchIndex(rest)
	case strings.HasPrefix(rest, `'`):
		value = singleQuoted().FindStringSubmatchIndex(rest)
	case header && long && strings.HasSuffix(separator, " "):
		value = restOfLine().FindStringSubmatchIndex(rest)
	default:
		if value = bare().FindStringSubmatchIndex(rest); value == nil {
			break
		}
		value[3] = len(strings.TrimRight(rest[:value[3]], ",)}"))
		word, line := rest[:value[3]], strings.Trim(before[strings.LastIndexByte(before, '\n')+1:], " \t-")
		more, _, _ := strings.Cut(rest[value[3]:], "\n")
		if header && strings.HasSuffix(separator, " ") && letters().MatchString(word) &&
			(line != "" || strings.TrimSpace(more) != "") {
			return 0, 0 // prose, such as "invalid token: expected a name"
		}
	}
	if value == nil {
		return 0, 0
	}
	if long {
		value[2] += len(scheme().FindString(rest[value[2]:value[3]]))
	}
	return from + value[2], from + value[3]
}
