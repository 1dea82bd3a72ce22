// Package redact cuts secrets out of what is shown or kept: audit records, logs, settings.
//
// It goes by two things: the name that a value has (password, api_key, GITHUB_TOKEN …) and what the text looks like
// (the tokens of well-known services, private keys, credentials in URLs, headers and assignments). It can't know a
// secret that has neither a name nor a form; what must never be seen must not be passed to a tool.
//
// The package must not know where a value comes from or who will read it.
package redact

import (
	"regexp"
	"strings"
	"sync"
)

// Mark stands where a secret was.
const Mark = "[secret cut]"

// secretName finds the names of secrets. A count of tokens is none.
var secretName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(pass(wor[dt]|wd|phrase)|secret|(^|[^a-z])token$|[a-z]token$|_token_|api[_-]?key|(access|private|secret|signing|encryption)[_-]?key|credentials?$|authorization|cookie)`)
})

// Name reports whether a value of this name is likely a secret.
func Name(name string) bool { return secretName().MatchString(name) }

// Value returns v, the value of that name, without the secrets in it. Objects and lists are copied, not changed.
func Value(name string, v any) any {
	switch v := v.(type) {
	case string:
		if v != "" && Name(name) {
			return Mark
		}
		return Text(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = Value(key, value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = Value(name, item)
		}
		return out
	case []map[string]any:
		out := make([]map[string]any, len(v))
		for i, item := range v {
			out[i] = Value(name, item).(map[string]any)
		}
		return out
	case []string:
		out := make([]string, len(v))
		for i, item := range v {
			out[i] = Text(item)
		}
		return out
	case nil, bool:
		return v
	}
	if Name(name) {
		return Mark // a number, such as a PIN
	}
	return v
}

// shape is a form that secrets have in a text.
type shape struct {
	hints   []string // one of them, in small letters, is in every text that has the form
	pattern *regexp.Regexp
	with    string
}

// shapes are made when the first text is looked at.
var shapes = sync.OnceValue(func() []shape {
	const word = `(?:pass(?:wor[dt]|wd|phrase)|secret|token|api[_-]?key|(?:access|private|secret|signing|encryption)[_-]?key|credentials?)`
	return []shape{
		{[]string{"private key"}, regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)`), Mark},
		{[]string{"authorization"}, regexp.MustCompile(`(?i)(authorization["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token|digest)\s+)?)[^\s"'\[][^\s"']*`), "${1}" + Mark},
		{[]string{"bearer"}, regexp.MustCompile(`(?i)(\bbearer\s+)[a-z0-9._~+/=-]{12,}`), "${1}" + Mark},
		{[]string{"://"}, regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@"']*:)[^\s/@"']+@`), "${1}" + Mark + "@"},
		// Assignments and options: NAME=value, --name value, "name": "value", with quotes of a quoted text too.
		{[]string{"pass", "secret", "token", "key", "credential"},
			regexp.MustCompile(`(?i)(\b[\w.-]*` + word + `\\?["']?\s*[=:]\s*|--?[\w-]*` + word + `\s+)` +
				`(?:(\\?")(?:[^"\\\[]|\\[^"])(?:[^"\\]|\\[^"])*|(')[^'\[][^']*|[^\s"'\\&;|\[-][^\s"'&;|]*)`), "${1}${2}${3}" + Mark},
		{[]string{"pass=", "_key=", "_pw=", "_pin="},
			regexp.MustCompile(`(\b[A-Z][A-Z0-9_]*(?:PASS|_KEY|_PW|_PIN)=["']?)[^\s"'&;|\[-][^\s"'&;|]*`), "${1}" + Mark},
		{[]string{"cookie"}, regexp.MustCompile(`(?i)(\bcookie\s*:\s*)[^\s"'\[][^"'\n]*`), "${1}" + Mark},
		// A user with a password, not one with a group's number.
		{[]string{"-u ", "-u=", "-user"},
			regexp.MustCompile(`((?:^|\s)(?:-u|--user|--proxy-user)[ =]\s*["']?[^\s:"'/]+:)[^\s"'/\[]*[^\s"'/\[0-9][^\s"'/]*`),
			"${1}" + Mark},
		{[]string{"mysql", "mariadb"}, regexp.MustCompile(`(\b(?:mysql|mariadb)[\w-]*\s(?:[^|;&]*?\s)?-p)[^\s"'\[][^\s"']*`),
			"${1}" + Mark},
		{[]string{"sshpass", "redis-cli"},
			regexp.MustCompile(`(\b(?:sshpass\s+-p|redis-cli\s(?:[^|;&]*?\s)?-a)\s*["']?)[^\s"'\[][^\s"']*`), "${1}" + Mark},
		{[]string{"sk-", "gh", "glpat-", "xox", "akia", "asia", "aiza", "npm_", "eyj", "pypi-", "hf_", "sk_live_",
			"rk_live_"},
			regexp.MustCompile(`\b(?:sk-[A-Za-z0-9_-]{16,}|(?:sk|rk)_live_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeoprs]-[\w-]{10,}|` +
				`(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{30,}|npm_[A-Za-z0-9]{30,}|pypi-[\w-]{30,}|hf_[A-Za-z0-9]{30,}|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]+)`), Mark},
	}
})

// Text returns s without what looks like a secret in it.
func Text(s string) string {
	if len(s) < 8 {
		return s
	}
	lower := strings.ToLower(s)
	for _, shape := range shapes() {
		for _, hint := range shape.hints {
			if strings.Contains(lower, hint) {
				s = shape.pattern.ReplaceAllString(s, shape.with)
				break
			}
		}
	}
	return s
}
