package session

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/host/egress"
	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Errors of programs in a sandbox without a network, of clients of a service on this machine, and of programs that
// could not be started.
var (
	noNetwork = lazyregexp.New(`(?i)(?:ENOTFOUND|EAI_AGAIN|could not resolve host:?|no such host:?|lookup)\s+([a-z0-9-]+(?:\.[a-z0-9-]+)+)|` +
		`net::ERR_\w+ at \w+://([^\s/]+)|` +
		`ENOTFOUND|EAI_AGAIN|ENETUNREACH|network is unreachable|fetch failed|name resolution|name or service not known`)
	connectionRefused = lazyregexp.New(`(?i)ECONNREFUSED|connection refused|connect call failed|` +
		`(?:failed|couldn't|could not|can't) (?:to )?connect`)
	loopbackPort = lazyregexp.New(`(?i)(?:\b127\.0\.0\.1|\blocalhost|::1)[\])'"]*(?::|,? ?port[ =]|, )(\d{1,5})\b`)
	noProgram    = lazyregexp.New(`spawn ([\w.+-]+) E(?:NOENT|ACCES)|\[Errno (?:2|13)\] [^:]*: '([\w.+-]+)'|` +
		`exec: "([\w.+-]+)": executable file not found|\b([\w.+-]+): (?:command )?not found`)
)

// hostRefusal matches a refusal of a host that no rule names.
var hostRefusal = lazyregexp.New(`^network: refused ([^\s,;]+)[,;].*setting network\.allow(?:, as a network such as ([^\s;]+))?`)

// addMissingGrantHints appends the connections that were refused during a call. For a call of an MCP server, it appends
// the grants that were probably missing.
func (r *Result) addMissingGrantHints(p *catalog.Plugin, refused []string) {
	if p.Pin == nil || p.Pin.Program == "" {
		r.addNetworkRefusals(refused)
		return
	}
	var others, lacks, notes []string
	id, grants := p.Manifest.ID, p.Pin.Grants
	lacksHost := func(place string) bool {
		entry := missingHostEntry(grants, place)
		if entry != "" && !slices.Contains(lacks, entry) {
			lacks = append(lacks, entry)
		}
		return entry != ""
	}
	for _, reason := range refused {
		if found := hostRefusal().FindStringSubmatch(reason); found == nil || !lacksHost(cmp.Or(found[2], found[1])) {
			others = append(others, reason)
		}
	}
	if r.Err != nil {
		text := r.Text + "\n" + r.Err.Message
		if found := noNetwork().FindStringSubmatch(text); found != nil && !grants.Network {
			lacksHost(cmp.Or(found[1], found[2], "HOST"))
		}
		if connectionRefused().MatchString(text) {
			ports := loopbackPort().FindAllStringSubmatch(text, maxRefusals)
			for _, found := range ports {
				lacksHost("localhost:" + found[1])
			}
			if ports == nil && !grants.Network { // without a network, only this machine refuses connections
				lacksHost("localhost:PORT")
			}
		}
		if isRemote := !grants.Exec; isRemote && len(grants.Secrets) == 0 && strings.Contains(text, "Unauthorized") {
			notes = append(notes, fmt.Sprintf("login: none, or refused; `picoclaw mcp login %s`", id))
		}
		for _, found := range noProgram().FindAllStringSubmatch(text, maxRefusals) {
			program := found[slices.IndexFunc(found[1:], func(s string) bool { return s != "" })+1]
			if len(grants.Programs) > 0 && !slices.Contains(grants.Programs, program) && FindSystemProgram(program) != "" {
				notes = append(notes, fmt.Sprintf("program: %s not granted; `picoclaw mcp grant %s --program %[1]s`", program, id))
			}
		}
	}
	for i, entry := range lacks {
		subject := entry + " not"
		if !grants.Network {
			subject = "none"
		}
		lacks[i] = fmt.Sprintf("network: %s granted; `picoclaw mcp grant %s --network %s`", subject, id, entry)
	}
	notes = append(lacks, slices.Compact(notes)...)
	if r.Err != nil && r.Err.Hint == "" {
		r.Err.Hint = strings.Join(notes, "; ")
	}
	r.addNetworkRefusals(append(notes, others...))
}

// missingHostEntry returns the entry that grants a server a host, host:port or network; "" if it is granted.
func missingHostEntry(grants pluginpb.Grant, place string) string {
	name, port, err := splitHostAndPort(place)
	switch {
	case grants.Network && (len(grants.Hosts) == 0 || slices.Contains(grants.Hosts, place)):
		return ""
	case err != nil || strings.Contains(place, "/"):
		return place
	}
	granted, err := egress.CompilePolicy(egress.PolicyRules{Allow: grants.Hosts})
	if err == nil && granted.Decide(name, port).Verdict == egress.Allow {
		return ""
	}
	return egress.FormatAllowEntry(name, port)
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
