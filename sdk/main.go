package sdk

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Main is the whole main function of a plugin. Started by a host it serves the tools until the host is done or gone.
// Started by a person it understands two commands:
//
//	describe              print the manifest (plugin.json)
//	call TOOL [JSON]      run one tool here, without a host, in the current directory
//
// It does not return.
func Main(p Plugin) {
	// Most of what a plugin allocates is a result on its way: garbage a moment later. At Go's default the collector runs in
	// nearly every call with a large one.
	debug.SetGCPercent(400)
	os.Exit(run(p, os.Args[1:], os.Stdout, os.Stderr))
}

// run is Main with its surroundings as arguments; it returns the exit code.
func run(p Plugin, args []string, stdout, stderr io.Writer) int {
	var err error
	switch {
	case len(args) == 0 && os.Getenv(pluginpb.Handshake().MagicCookieKey) != "":
		err = serve(p)
	case len(args) == 1 && args[0] == "describe":
		err = describe(stdout, p)
	case (len(args) == 2 || len(args) == 3) && args[0] == "call":
		arguments := "{}"
		if len(args) == 3 {
			arguments = args[2]
		}
		err = callHere(p, args[1], arguments, stdout, stderr)
	default:
		fmt.Fprintf(stderr, "%s %s is a picoclaw plugin: %s\n\nIt is started by picoclaw. By itself it understands:\n"+
			"  describe            print the manifest\n  call TOOL [JSON]    run one tool in the current directory\n",
			p.ID, p.Version, p.Doc)
		return 2
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", p.ID, err)
		return 1
	}
	return 0
}

func describe(w io.Writer, p Plugin) error {
	m, err := p.Manifest()
	if err != nil {
		return fmt.Errorf("this plugin can't be used: %w", err)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(m)
}
