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

// usageError is the error for a wrong command line.
type usageError struct{ error }

// RunMain is a plugin's main function with explicit inputs. It returns the exit code: 0, 1 for a failure, 2 for a wrong
// command line. Started by a host, it serves the host. Otherwise it has these commands:
//
//	describe                             print the manifest (plugin.json)
//	call TOOL [JSON] [--config JSON]     run one tool in the current directory, without a host
func RunMain(p Plugin, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	err := runCommand(p, args, stdin, stdout, stderr)
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "%s: %v\n", p.ID, err)
	if wrong := (usageError{}); errors.As(err, &wrong) {
		return 2
	}
	return 1
}

func runCommand(p Plugin, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		if os.Getenv(pluginpb.HandshakeConfig().MagicCookieKey) != "" {
			return serveHost(p)
		}
		printHelp(stderr, p)
		return usageError{errors.New("use describe, or call TOOL")}
	}
	switch command := args[0]; command {
	case "describe":
		if len(args) > 1 {
			return usageError{fmt.Errorf("describe takes no argument %q", args[1])}
		}
		return printManifest(stdout, p)
	case "call":
		return runCallCommand(p, args[1:], stdin, stdout, stderr)
	case "help", "-h", "-help", "--help":
		printHelp(stdout, p)
		return nil
	default:
		return usageError{fmt.Errorf("unknown command %q%s; `%s --help` lists commands",
			command, suggest.DidYouMean(command, []string{"describe", "call", "help"}), p.ID)}
	}
}

// printHelp prints the usage of a plugin's binary.
func printHelp(w io.Writer, p Plugin) {
	fmt.Fprintf(w, "%s %s is a picoclaw plugin: %s\n\nIt is started by picoclaw. By itself it understands:\n"+
		"  describe                           print the manifest that goes beside it as %s\n"+
		"  call TOOL [JSON] [--config JSON]   run one tool in the current directory; \"-\" reads JSON from standard input\n"+
		"  call TOOL --help                   show a tool's arguments\n\nIts tools:\n", p.ID, p.Version, p.Doc,
		pluginpb.ManifestFile)
	for _, t := range p.Tools {
		fmt.Fprintf(w, "  %-18s %s\n", t.spec.Name, firstLine(t.spec.Doc))
	}
}

func printManifest(w io.Writer, p Plugin) error {
	m, err := NewManifest(p)
	if err != nil {
		return fmt.Errorf("this plugin can't be used: %w", err)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(m)
}
