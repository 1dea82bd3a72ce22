package kernel_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

// A running host works in a workspace that was deleted and made anew, and says so while there is none.
func TestReplacedWorkspace(t *testing.T) {
	for _, isolated := range []bool{false, true} {
		t.Run(fmt.Sprintf("isolated=%v", isolated), func(t *testing.T) {
			t.Parallel()
			a := clitest.NewAgent(t, isolated)
			call := a.StartBatch()
			work := func(text string) {
				t.Helper()
				for _, c := range []clitest.ToolCall{
					{Tool: "write_file", Args: map[string]any{"path": "a", "content": text}},
					{Tool: "exec", Args: map[string]any{"command": "ls && cat a && cp a b"}},
					{Tool: "read_file", Args: map[string]any{"path": "b"}},
					{Tool: "grep", Args: map[string]any{"pattern": text}},
				} {
					if got := call(c); !got.OK || c.Tool != "write_file" && !strings.Contains(got.Text, text) {
						t.Errorf("%s of %s: %+v", c.Tool, text, got)
					}
				}
			}
			work("first")
			for _, text := range []string{"second", "third"} {
				if err := os.RemoveAll(a.Workspace); err != nil {
					t.Fatal(err)
				}
				if text == "third" {
					got := call(clitest.ToolCall{Tool: "grep", Args: map[string]any{"pattern": "second"}})
					if got.OK || !strings.Contains(got.Error.Message, "no longer exists; create it") {
						t.Errorf("without a workspace: %+v", got)
					}
				}
				if err := errors.Join(os.Mkdir(a.Workspace, 0o755), os.WriteFile(a.Workspace+"/theirs", nil, 0o600)); err != nil {
					t.Fatal(err)
				}
				work(text)
			}
		})
	}
}
