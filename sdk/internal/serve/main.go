package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/picoclaw/picoclaw/internal/suggest"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// usageError is the error of a wrong command line.
type usageError struct{ error }

// Run is a plugin's main function with its surroundings as arguments; it returns the exit code: 0, 1 if what was
// asked for failed, 2 if the command line is wrong. It serves a host that has started it; else the commands are
//
//	describe                             print the manifest (plugin.json)
//	call TOOL [JSON] [--config JSON]     run one tool here, without a host, in the current directory
func Run(p Plugin, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	err := dispatch(p, args, stdin, stdout, stderr)
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "%s: %v\n", p.ID, err)
	if wrong := (usageError{}); errors.As(err, &wrong) {
		return 2
	}
	return 1
}

func dispatch(p Plugin, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		if os.Getenv(pluginpb.Handshake().MagicCookieKey) != "" {
			return serve(p)
		}
		help(stderr, p)
		return usageError{errors.New("say what to do: describe, or call TOOL")}
	}
	switch command := args[0]; command {
	case "describe":
		if len(args) > 1 {
			return usageError{fmt.Errorf("describe takes no argument %q", args[1])}
		}
		return describe(stdout, p)
	case "call":
		return callHere(p, args[1:], stdin, stdout, stderr)
	case "help", "-h", "-help", "--help":
		help(stdout, p)
		return nil
	default:
		return usageError{fmt.Errorf("unknown command %q%s; `%s --help` lists what there is",
			command, suggest.DidYouMean(command, []string{"describe", "call", "help"}), p.ID)}
	}
}

// help says what a plugin's binary is good for by itself.
func help(w io.Writer, p Plugin) {
	fmt.Fprintf(w, "%s %s is a picoclaw plugin: %s\n\nIt is started by picoclaw. By itself it understands:\n"+
		"  describe                           print the manifest that goes beside it as %s\n"+
		"  call TOOL [JSON] [--config JSON]   run one tool in the current directory; \"-\" reads JSON from standard input\n"+
		"  call TOOL --help                   say what a tool takes\n\nIts tools:\n", p.ID, p.Version, p.Doc,
		pluginpb.ManifestFile)
	for _, t := range p.Tools {
		fmt.Fprintf(w, "  %-18s %s\n", t.spec.Name, firstLine(t.spec.Doc))
	}
}

func describe(w io.Writer, p Plugin) error {
	m, err := Manifest(p)
	if err != nil {
		return fmt.Errorf("this plugin can't be used: %w", err)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(m)
}
