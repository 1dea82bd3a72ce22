package mcpservers

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// maxOutputShown limits the output of a probe in an error message: its error, and then the server's standard error.
const maxOutputShown = 4 << 10

// outputSuffix formats a program's output for the end of an error message.
func outputSuffix(output string) string {
	if output == "" {
		return ""
	}
	return "; its output:\n" + strings.ToValidUTF8(output, "\uFFFD")
}

// logAndSummariseOutput returns the error lines in a package manager's output for an error message, and logs all
// output to a file.
func (m *PackageBuilder) logAndSummariseOutput(manager, output string) string {
	summary := selectErrorLines(output)
	if summary == output {
		return outputSuffix(output)
	}
	logFile := filepath.Join(m.Logs, "mcp-"+manager+".log")
	err := os.MkdirAll(m.Logs, 0o700)
	if err == nil {
		err = os.WriteFile(logFile, []byte(output+"\n"), 0o600)
	}
	if err != nil {
		return outputSuffix(output)
	}
	return outputSuffix(summary) + "\nthe whole output is in " + logFile
}

// Prefixes of package managers' lines, lines without information, and lines that report an error.
var (
	managerPrefix = lazyregexp.New(`^npm (?:error|ERR!|warn) ?(?:[0-9]{3}\b|E[A-Z]{4,}\b|notarget)? ?`)
	noiseLine     = lazyregexp.New(`^(?:code|path|errno|syscall|signal|command|A complete log|Note that you can|tarball, folder|WARNING: )`)
	errorLine     = lazyregexp.New(`(?i)error|not found|no matching|can't|cannot|could not|denied|refused|exceeded|failed|unsupported`)
)

// selectErrorLines returns the first and the last line that report an error in a package manager's output.
func selectErrorLines(output string) string {
	var lines, errors []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(managerPrefix().ReplaceAllString(strings.TrimSpace(line), ""))
		if line == "" || noiseLine().MatchString(line) {
			continue
		}
		lines = append(lines, line)
		if errorLine().MatchString(line) {
			errors = append(errors, line)
		}
	}
	if len(errors) == 0 {
		errors = lines
	}
	if len(errors) > 2 {
		errors = []string{errors[0], errors[len(errors)-1]}
	}
	if len(errors) == 0 {
		return output
	}
	return strings.Join(errors, "\n")
}
