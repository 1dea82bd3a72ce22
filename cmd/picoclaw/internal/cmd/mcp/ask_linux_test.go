package mcp_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest/mcptest"
)

// needsYes is a command that the rule in askFirst leaves to a person.
const needsYes = "touch made"

// asking connects a client whose person answers with answer. The messages that the person has seen are in asked.
func asking(t *testing.T, answer *sdkmcp.ElicitResult) (client *sdkmcp.ClientSession, workspace string,
	asked *[]string) {
	t.Helper()
	asked = new([]string)
	client, workspace = bridgeToSocket(t, "false", &sdkmcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *sdkmcp.ElicitRequest) (*sdkmcp.ElicitResult, error) {
			*asked = append(*asked, req.Params.Message)
			return answer, nil
		},
	})
	return client, workspace, asked
}

var yes = &sdkmcp.ElicitResult{Action: "accept", Content: map[string]any{"allow": true}}

// execCommand calls exec with a command.
func execCommand(t *testing.T, client *sdkmcp.ClientSession, command string) *sdkmcp.CallToolResult {
	t.Helper()
	result, err := client.CallTool(t.Context(), &sdkmcp.CallToolParams{Name: "exec",
		Arguments: map[string]any{"command": command}})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func made(workspace string) bool {
	_, err := os.Stat(filepath.Join(workspace, "made"))
	return err == nil
}

func TestMCPClientAsksForApproval(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer *sdkmcp.ElicitResult
		runs   bool
	}{
		"yes":       {yes, true},
		"no":        {&sdkmcp.ElicitResult{Action: "accept", Content: map[string]any{"allow": false}}, false},
		"declined":  {&sdkmcp.ElicitResult{Action: "decline"}, false},
		"cancelled": {&sdkmcp.ElicitResult{Action: "cancel"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			client, workspace, asked := asking(t, c.answer)
			result := execCommand(t, client, needsYes)
			if len(*asked) != 1 || !strings.Contains((*asked)[0], "shell.exec") || !strings.Contains((*asked)[0], "make-it") ||
				!strings.Contains((*asked)[0], needsYes) {
				t.Errorf("the questions were %q", *asked)
			}
			if result.IsError == c.runs || made(workspace) != c.runs {
				t.Errorf("error %t, ran %t: %s", result.IsError, made(workspace), mcptest.ResultText(result))
			}
			if !c.runs && !strings.HasPrefix(mcptest.ResultText(result), "Command blocked by safety guard (dangerous pattern detected)\n") {
				t.Errorf("the refusal is %q", mcptest.ResultText(result))
			}
		})
	}
}

func TestDeniedCallsAreNotAsked(t *testing.T) {
	t.Parallel()
	client, _, asked := asking(t, yes)
	for _, command := range []string{"rm -rf x", needsYes + "; rm -rf x"} {
		if result := execCommand(t, client, command); !result.IsError || len(*asked) != 0 {
			t.Errorf("%s: asked %q, answered %q", command, *asked, mcptest.ResultText(result))
		}
	}
}

func TestClientWithoutElicitationIsRefused(t *testing.T) {
	t.Parallel()
	client, workspace := bridgeToSocket(t, "false", nil)
	result := execCommand(t, client, needsYes)
	if got := mcptest.ResultText(result); !result.IsError || made(workspace) ||
		!strings.Contains(got, "tools.exec.custom_allow_patterns") || !strings.Contains(got, "MCP elicitation") {
		t.Errorf("ran %t: %s", made(workspace), got)
	}
}

// An answer is for the one call that was shown: one that nobody asked for is not taken, nor does it let the call pass
// again.
func TestApprovalAppliesToOneCall(t *testing.T) {
	t.Parallel()
	client, workspace, asked := asking(t, yes)
	forged := &sdkmcp.CallToolParams{Name: "exec", Arguments: map[string]any{"command": needsYes}, RequestState: "made up",
		InputResponses: sdkmcp.InputResponseMap{"allow": yes}}
	if _, err := client.CallTool(t.Context(), forged); err == nil || !strings.Contains(err.Error(), "requestState is invalid") {
		t.Errorf("the error of the forged answer is %v", err)
	}
	if len(*asked) != 0 || made(workspace) {
		t.Errorf("the forged answer: asked %d times, ran %t", len(*asked), made(workspace))
	}
	if execCommand(t, client, needsYes); len(*asked) != 1 || !made(workspace) {
		t.Errorf("asked %d times, ran %t; want once and then run", len(*asked), made(workspace))
	}
	if execCommand(t, client, needsYes); len(*asked) != 2 {
		t.Errorf("the second call was not asked about: asked %d times", len(*asked))
	}
}
