package guard

import (
	"encoding/json"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/programs"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// packaged remembers the scripts that a package manager is told to write into package.json, for when the line runs them.
func (a *analysis) packaged(c *shell.Call, argv []string) {
	file, set := programs.Scripts(argv[0], argv[1:])
	if len(set) == 0 {
		return
	}
	var described struct {
		Scripts map[string]string `json:"scripts"`
	}
	before, _ := c.Written(file)
	if json.Unmarshal([]byte(before.Text), &described) != nil || described.Scripts == nil {
		described.Scripts = map[string]string{}
	}
	for name, script := range set {
		described.Scripts[name] = strings.ReplaceAll(script, shell.Unknown, shell.Item)
	}
	text, err := json.Marshal(described)
	if err != nil {
		return // a map of strings can always be written
	}
	c.Write(file, shell.Stream{Piped: true, Text: string(text), From: shell.From(argv[0])})
}
