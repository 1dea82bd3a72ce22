package session

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// Errors of programs in a sandbox without a network, and of programs that could not be started.
var (
	noNetwork = lazyregexp.New(`(?i)(?:ENOTFOUND|EAI_AGAIN|could not resolve host:?|no such host:?|lookup)\s+([a-z0-9-]+(?:\.[a-z0-9-]+)+)|` +
		`net::ERR_\w+ at \w+://([^\s/]+)|` +
		`ENOTFOUND|EAI_AGAIN|ENETUNREACH|network is unreachable|fetch failed|name resolution|name or service not known`)
	noProgram = lazyregexp.New(`spawn ([\w.+-]+) E(?:NOENT|ACCES)|\[Errno (?:2|13)\] [^:]*: '([\w.+-]+)'|` +
		`exec: "([\w.+-]+)": executable file not found|\b([\w.+-]+): (?:command )?not found`)
)

// addMissingGrants appends the grants that a failed call of an MCP server probably lacked.
func (r *Result) addMissingGrants(p *catalog.Plugin) {
	if r.Err == nil || p.Pin == nil || p.Pin.Program == "" {
		return
	}
	id, grants := p.Manifest.ID, p.Pin.Grants
	text := r.Text + "\n" + r.Err.Message
	var notes []string
	if found := noNetwork().FindStringSubmatch(text); found != nil && !grants.Network {
		notes = append(notes, fmt.Sprintf("network: none granted; `picoclaw mcp grant %s --network %s`", id, cmp.Or(found[1], found[2], "HOST")))
	}
	for _, found := range noProgram().FindAllStringSubmatch(text, maxRefusals) {
		program := found[slices.IndexFunc(found[1:], func(s string) bool { return s != "" })+1]
		if len(grants.Programs) > 0 && !slices.Contains(grants.Programs, program) && FindSystemProgram(program) != "" {
			notes = append(notes, fmt.Sprintf("program: %s not granted; `picoclaw mcp grant %s --program %[1]s`", program, id))
		}
	}
	r.addNetworkRefusals(slices.Compact(notes))
}

// FindSystemProgram returns the path of a program in the system directories, which a sandbox shows; "" for none.
func FindSystemProgram(name string) string {
	for _, dir := range []string{"/usr/local/bin", "/usr/bin", "/bin"} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}
