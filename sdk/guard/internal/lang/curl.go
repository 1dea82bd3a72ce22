package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

// curlSetting is a line of a file that curl takes options from.
var curlSetting = pattern.New(`(?m)^[ \t]*-{0,2}([A-Za-z][\w-]*)[ \t]*[=: \t][ \t]*(?:"((?:[^"\\]|\\.)*)"|(\S+))`)

// curlText are options of curl whose value names no file of this machine's.
var curlText = map[string]bool{"header": true, "H": true, "user-agent": true, "A": true, "referer": true, "e": true, "user": true, "u": true, "request": true, "X": true, "proxy": true, "x": true, "range": true, "r": true}

// Curl says which files the options in a file of curl's name.
func Curl(code string) (out []Effect) {
	for _, m := range curlSetting.FindAllStringSubmatch(code) {
		name, value := m[1], strings.ReplaceAll(m[2]+m[3], `\`, "")
		_, file, named := strings.Cut(value, "@")
		switch {
		case named && (strings.HasPrefix(name, "data") || strings.HasPrefix(name, "form") || name == "d" || name == "F" || name == "header" || name == "H" || name == "json" || name == "write-out"):
			out = append(out, Effect{Kind: Read, Text: file})
		case name == "url" || strings.Contains(value, "://"):
			if strings.HasPrefix(strings.ToLower(value), "file:") {
				out = append(out, Effect{Kind: Read, Text: value})
			}
		case name == "upload-file" || name == "T" || name == "config" || name == "K":
			out = append(out, Effect{Kind: Read, Text: value})
		case !curlText[name] && (name == "output" || name == "o" || strings.HasPrefix(value, "/") || strings.HasPrefix(value, "~") || strings.HasPrefix(value, "../")):
			out = append(out, Effect{Kind: Write, Text: value})
		}
	}
	return out
}

// wgetSettings are the settings of wget, in its own files, that name a program or a file of this machine's.
var wgetSettings = map[string]Kind{
	"useaskpass":     Shell,
	"outputdocument": Write, "logfile": Write, "dirprefix": Write, "savecookies": Write, "rejectedlog": Write, "warcfile": Write, "hstsfile": Write,
	"input": Read, "postfile": Read, "bodyfile": Read, "loadcookies": Read, "cacertificate": Read, "certificate": Read, "privatekey": Read, "config": Read,
}

// Wget says what the settings in a file of wget's do. In their names, case, dashes and underscores count for nothing.
func Wget(code string) (out []Effect) {
	plain := strings.NewReplacer("-", "", "_", "")
	for line := range strings.Lines(code) {
		name, value, _ := strings.Cut(line, "=")
		kind, known := wgetSettings[plain.Replace(strings.ToLower(strings.TrimSpace(name)))]
		if value = strings.Trim(strings.TrimSpace(value), `"`); known && value != "" && value != "-" {
			out = append(out, Effect{Kind: kind, Text: value})
		}
	}
	return out
}
