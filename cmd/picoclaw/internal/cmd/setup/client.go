package setup

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/clients"
	"github.com/picoclaw/picoclaw/host/run"
)

// setupLevels are the values of --level.
var setupLevels = []string{"run", "guard", "tools"}

// setUpClient sets up a client as --level says: prints the command that runs it in the sandbox, or adds a hook or
// picoclaw's tools to its settings.
func (o *InitOptions) setUpClient(client clients.ClientProgram, server clients.ServerEntry, m *initResult) error {
	switch o.level {
	case "run":
		return o.printRunCommand(client)
	case "guard":
		project, err := o.projectDir()
		if err != nil {
			return cli.FailedError(err)
		}
		change, err := client.PlanHook(project, hookCommand(client, server))
		if err != nil {
			return cli.FailedError(err)
		}
		return o.confirmAndWriteSettings(client, change, m)
	}
	places, err := currentUserEnvironment()
	if err != nil {
		return cli.StartError(err)
	}
	change, err := client.PlanServerEntry(places, o.file, server)
	if err != nil {
		return cli.FailedError(err)
	}
	if err = o.confirmAndWriteSettings(client, change, m); err != nil || o.level == "" || !client.CanDenyTools() {
		return err
	}
	project, err := o.projectDir()
	if err != nil {
		return cli.FailedError(err)
	}
	if change, err = client.PlanToolDenial(project); err != nil {
		return cli.FailedError(err)
	}
	return o.confirmAndWriteSettings(client, change, m)
}

// hookCommand returns the shell command for a client's hook. It has the home, configuration and agent of the MCP entry.
func hookCommand(client clients.ClientProgram, server clients.ServerEntry) string {
	quote := func(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
	var words []string
	for _, name := range slices.Sorted(maps.Keys(server.Env)) {
		words = append(words, name+"="+quote(server.Env[name]))
	}
	words = append(words, quote(server.Command), "hook", client.HookClient)
	for _, arg := range server.Args[1:] { // the first is the command mcp
		words = append(words, quote(arg))
	}
	return strings.Join(words, " ")
}

// projectDir returns the directory with the settings: --workspace, or the project around the current directory.
func (o *InitOptions) projectDir() (string, error) {
	if o.Workspace != "" {
		return filepath.Abs(o.Workspace)
	}
	project, _, err := run.FindProjectDir("", "")
	return project, err
}

// printRunCommand prints the command that runs a client in the sandbox.
func (o *InitOptions) printRunCommand(client clients.ClientProgram) error {
	if client.Program == "" {
		return cli.FailedError(fmt.Errorf("%s does not run in a terminal; use --level tools", client.Title))
	}
	command := "picoclaw run -- " + client.Program
	if o.agent != "" {
		command = "picoclaw run --agent " + o.agent + " -- " + client.Program
	}
	if o.output == cli.JSON {
		return o.PrintJSON(map[string]string{"client": client.ID, "command": command})
	}
	fmt.Fprintf(o.Out, "%s runs confined to a project, with its own tools, by\n\n  %s\n\nTo have its name mean that:\n\n  alias %s='%s'\n",
		client.Title, command, client.Program, command)
	return nil
}

// confirmAndWriteSettings shows the planned change of a client's settings, asks, and writes it.
func (o *InitOptions) confirmAndWriteSettings(client clients.ClientProgram, change *clients.FileChange, m *initResult) (err error) {
	result := clientSetupResult{Client: client.ID, File: change.Path, Note: client.Note}
	out := terminal.NewWriter(o.Out)
	if !change.HasChanges() {
		if o.output == cli.JSON {
			return o.PrintJSON(result)
		}
		fmt.Fprintf(out, "%s already has the entry: %s\n", client.Title, change.Path)
		return nil
	}
	if o.output != cli.JSON {
		if len(m.created) > 0 {
			m.printSummary(out)
			fmt.Fprintln(out)
		}
		clients.PrintDiff(out, change.Diff())
		if client.Note != "" && o.level != "guard" {
			fmt.Fprintln(out, out.Paint(terminal.Doubt, client.Note))
		}
	}
	if !o.yes {
		if yes, askErr := o.AskYesNo(fmt.Sprintf("Write this to %s?", change.Path)); askErr != nil || !yes {
			return cli.FailedError(newReasonError("nothing was written", askErr))
		}
	}
	if result.Backup, err = change.Apply(time.Now()); err != nil {
		return cli.FailedError(err)
	}
	result.Written = true
	if o.output == cli.JSON {
		return o.PrintJSON(result)
	}
	fmt.Fprintln(out, out.Paint(terminal.Good, "written:"), change.Path)
	if result.Backup != "" {
		fmt.Fprintln(out, "as it was:", result.Backup)
	}
	return nil
}

func newReasonError(what string, why error) error {
	if why == nil {
		return errors.New(what)
	}
	return fmt.Errorf("%s: %w", what, why)
}

// clientSetupResult is the JSON output about a client's changed settings.
type clientSetupResult struct {
	Client  string `json:"client"`
	File    string `json:"file"`
	Written bool   `json:"written"` // false if the entry existed
	Backup  string `json:"backup,omitempty"`
	Note    string `json:"note,omitempty"`
}

func currentUserEnvironment() (clients.UserEnvironment, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return clients.UserEnvironment{}, fmt.Errorf("find your home directory: %w", err)
	}
	return clients.UserEnvironment{OS: runtime.GOOS, Home: home, Getenv: os.Getenv}, nil
}

// clientSettingsEntry is the JSON output about the entry that a client needs.
type clientSettingsEntry struct {
	Client string `json:"client"`
	Title  string `json:"title"`
	File   string `json:"file"`
	Entry  string `json:"entry"` // text of a file with only this entry
	Note   string `json:"note,omitempty"`
}

func listClientEntries(server clients.ServerEntry) ([]clientSettingsEntry, error) {
	places, err := currentUserEnvironment()
	if err != nil {
		return nil, err
	}
	var list []clientSettingsEntry
	for _, c := range clients.AllClients() {
		text, err := c.SettingsSnippet(server)
		if err != nil {
			return nil, err
		}
		list = append(list, clientSettingsEntry{Client: c.ID, Title: c.Title, File: c.SettingsFilePath(places), Entry: text, Note: c.Note})
	}
	return list, nil
}

// printClientEntries prints the entries to copy. Clients with the same entry share one copy.
func (o *InitOptions) printClientEntries(out *terminal.Writer, server clients.ServerEntry) error {
	list, err := listClientEntries(server)
	if err != nil {
		return cli.StartError(err)
	}
	fmt.Fprintln(out, "\nAdd it to an MCP client: `picoclaw init --client NAME` writes the entry, or paste it.")
	shown := map[string]bool{}
	for _, e := range list {
		if shown[e.Entry] {
			continue
		}
		shown[e.Entry] = true
		fmt.Fprintln(out)
		for _, same := range list {
			if same.Entry == e.Entry {
				fmt.Fprintf(out, "%s  %s\n", out.Paint(terminal.Bold, fmt.Sprintf("%-15s", same.Client)),
					out.Paint(terminal.Faint, same.File))
			}
		}
		fmt.Fprint(out, e.Entry)
	}
	return nil
}

// printSetupJSON prints the result and the entries as JSON.
func (o *InitOptions) printSetupJSON(m *initResult, server clients.ServerEntry) error {
	list, err := listClientEntries(server)
	if err != nil {
		return cli.StartError(err)
	}
	return o.PrintJSON(struct {
		Home      string                `json:"home"`
		Config    string                `json:"config"`
		Workspace string                `json:"workspace"`
		Made      []string              `json:"made"`
		Isolation bool                  `json:"isolation"`
		SelfTest  string                `json:"isolation_error,omitempty"`
		Clients   []clientSettingsEntry `json:"clients"`
	}{m.cfg.Home().Path, m.cfg.FilePath(), m.workspace, append([]string{}, m.created...), m.cfg.IsolationEnabled(),
		formatErrorLine(m.isolationErr), list})
}
