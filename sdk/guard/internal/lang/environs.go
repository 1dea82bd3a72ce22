package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// environs are variables that code sets for what it starts: in its own environment, or in one that it hands to it.
var environs = pattern.New(`(?:\benviron\s*\[\s*"(\d+)"\s*\]\s*=|\b(?:putenv|setenv|setdefault)\s*\(?\s*"(\d+)"\s*,|\bprocess\.env\.(\w+)\s*=|\$ENV\s*\{\s*(?:(\w+)|"(\d+)")\s*\}\s*=|\bENV\s*\[\s*"(\d+)"\s*\]\s*=|"(\d+)"\s*(?::|=>)|[{,]\s*(\w+)\s*(?::|=>))\s*(?:"(\d+)"\s*([+%.\[])?|[A-Za-z_$(\[])`)

// maxEnvirons is how many variables are followed that code sets for what it starts.
const maxEnvirons = 32

// environment adds to the commands that name variables what the code sets these to.
func (s *skeleton) environment(effects []Effect) {
	set, looked := "", false
	for i, e := range effects {
		if e.Kind != Shell || !strings.Contains(e.Text, "$") {
			continue
		}
		if !looked {
			set, looked = s.exports(), true
		}
		effects[i].Text = set + e.Text
	}
}

// exports are the variables that code sets for what it starts, as the shell would set them.
func (s *skeleton) exports() string {
	if !strings.Contains(strings.ToLower(s.code), "env") {
		return ""
	}
	var b strings.Builder
	known := map[string]string{}
	add := func(name, value string) {
		before, ok := known[name]
		if ok && before != value {
			value = shell.Item // which one counts isn't known
		}
		if known[name] = value; !ok || before != value {
			b.WriteString("export " + name + "=" + value + "\n")
		}
	}
	for n, m := range environs.FindAllStringSubmatch(s.worth(environs)) {
		name := m[3] + m[4] + m[8]
		if text, ok := s.text(m[1] + m[2] + m[5] + m[6] + m[7]); ok {
			name = text
		}
		if n >= maxEnvirons || !variableName(name) {
			continue
		}
		if value, ok := s.text(m[9]); m[9] == "" || m[10] != "" {
			add(name, shell.Item)
		} else if ok && len(value) < maxTold {
			add(name, "'"+strings.ReplaceAll(value, "'", `'\''`)+"'")
		}
	}
	return b.String()
}

// variableName says whether the shell takes a word for the name of a variable.
func variableName(word string) bool {
	if word == "" || digit(word[0]) {
		return false
	}
	for i := 0; i < len(word); i++ {
		if !wordByte(word[i]) {
			return false
		}
	}
	return true
}
