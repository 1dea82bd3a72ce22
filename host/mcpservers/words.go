package mcpservers

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// mostWords is how much of what a server says on its standard error is shown, in bytes.
const mostWords = 2 << 10

// quoted is what a program has said, to be put behind a message.
func quoted(said string) string {
	if said == "" {
		return ""
	}
	return "; it said:\n" + strings.ToValidUTF8(said, "\uFFFD")
}

// told is what tells most of what a package manager has said, to be put behind a message. All of it is kept.
func (m *Maker) told(manager, said string) string {
	short := telling(said)
	if short == said {
		return quoted(said)
	}
	at := filepath.Join(m.Logs, "mcp-"+manager+".log")
	err := os.MkdirAll(m.Logs, 0o700)
	if err == nil {
		err = os.WriteFile(at, []byte(said+"\n"), 0o600)
	}
	if err != nil {
		return quoted(said)
	}
	return quoted(short) + "\nall that it said is in " + at
}

// What package managers put in front of each line, what they say of themselves, and what says that something is wrong.
var (
	inFront   = lazyregexp.New(`^npm (?:error|ERR!|warn) ?(?:[0-9]{3}\b|E[A-Z]{4,}\b|notarget)? ?`)
	ofItself  = lazyregexp.New(`^(?:code|path|errno|syscall|signal|command|A complete log|Note that you can|tarball, folder|WARNING: )`)
	isAnError = lazyregexp.New(`(?i)error|not found|no matching|can't|cannot|could not|denied|refused|exceeded|failed|unsupported`)
)

// telling is what tells most of what a package manager has said: the first line that says what is wrong, and the last.
func telling(said string) string {
	var all, wrong []string
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(inFront().ReplaceAllString(strings.TrimSpace(line), ""))
		if line == "" || ofItself().MatchString(line) {
			continue
		}
		all = append(all, line)
		if isAnError().MatchString(line) {
			wrong = append(wrong, line)
		}
	}
	if len(wrong) == 0 {
		wrong = all
	}
	if len(wrong) > 2 {
		wrong = []string{wrong[0], wrong[len(wrong)-1]}
	}
	if len(wrong) == 0 {
		return said
	}
	return strings.Join(wrong, "\n")
}
