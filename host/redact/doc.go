// Package redact cuts secrets out of what is shown or kept: audit records, logs, settings.
//
// It goes by two things: the name that a value has (password, api_key, GITHUB_TOKEN …) and what the text looks like
// (the tokens of well-known services, private keys, credentials in URLs, headers and assignments). It can't know a
// secret that has neither a name nor a form; what must never be seen must not be passed to a tool.
//
// The package must not know where a value comes from or who will read it.
package redact
