package cli

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/picoclaw/picoclaw/host/agent"
)

// codexDisabledFeatures are the features of Codex that add tools, and one that retries connections forever. Codex
// can't disable patches and JavaScript. A patch changes nothing and ends Codex. JavaScript can only call tools.
var codexDisabledFeatures = []string{"shell_tool", "unified_exec", "shell_snapshot", "view_image", "image_generation", "multi_agent",
	"goals", "sleep_tool", "apps", "plugins", "skill_search", "tool_suggest", "memories", "hooks", "computer_use",
	"browser_use", "unbounded_connection_retries"}

// codexArguments returns Codex's arguments: JSON events, a read-only sandbox, picoclaw's MCP server, and no settings.
func codexArguments(c *ProgramModel, system string, r agent.ModelRequest) []string {
	settings := map[string]string{
		"mcp_servers." + ServerName: fmt.Sprintf(
			`{command=%s,args=%s,required=true,default_tools_approval_mode="approve",startup_timeout_sec=60,tool_timeout_sec=86400}`,
			quoteTOML(c.options.Server[0]), quoteTOML(c.options.Server[1:])),
		// a custom provider has no retries, no sockets, and a configurable key variable
		"model_provider": quoteTOML(ServerName),
		"model_providers." + ServerName: fmt.Sprintf(
			`{name=%s,base_url=%s,env_key=%s,wire_api="responses",supports_websockets=false,request_max_retries=0,stream_max_retries=0}`,
			quoteTOML(c.name), quoteTOML(c.baseURL()), quoteTOML(cmp.Or(c.keyVariable, c.vendor.keyVariable))),
		"web_search":                  quoteTOML("disabled"),
		"agents.enabled":              "false",
		"analytics.enabled":           "false",
		"check_for_update_on_startup": "false",
		"project_doc_max_bytes":       "0",
	}
	for _, feature := range codexDisabledFeatures {
		settings["features."+feature] = "false"
	}
	if system != "" {
		settings["developer_instructions"] = quoteTOML(system)
	}
	args := []string{"exec", "--json", "--ephemeral", "--ignore-user-config", "--ignore-rules", "--skip-git-repo-check",
		"--sandbox", "read-only", "--color", "never"}
	if c.options.Model != "" {
		args = append(args, "--model", c.options.Model)
	}
	return append(append(args, repeatOption("-c", settings)...), "-")
}

// quoteTOML encodes a string or list in TOML, whose syntax for them is JSON's.
func quoteTOML[T string | []string](value T) string {
	if text, err := json.Marshal(value); err == nil && string(text) != "null" {
		return string(text)
	}
	return "[]"
}

// codexEventHandler adds Codex's events to a reply.
type codexEventHandler struct{ *replyAssembler }

// codexEvent has the relevant fields of an event.
type codexEvent struct {
	Type    string
	Message string // error
	Error   struct{ Message string }
	Usage   struct {
		Input      agent.TokenCount `json:"input_tokens"` // all of it
		Cached     agent.TokenCount `json:"cached_input_tokens"`
		CacheWrite agent.TokenCount `json:"cache_write_input_tokens"`
		Output     agent.TokenCount `json:"output_tokens"`
	}
	Item struct {
		ID, Type string

		Text    string // agent_message
		Message string // error

		Server, Tool string // mcp_tool_call
		Arguments    json.RawMessage
		Result       *struct{ Content json.RawMessage }
		Error        *struct{ Message string }
		Status       string
	}
}

func (c *codexEventHandler) handleEvent(line []byte) error {
	var e codexEvent
	if err := json.Unmarshal(line, &e); err != nil {
		return c.protocolError("wrote an invalid event (%v)", err)
	}
	switch e.Type {
	case "item.started", "item.updated", "item.completed":
		return c.addItem(&e)
	case "error": // it may continue
		c.lastError = e.Message
	case "turn.failed":
		return c.failureError(0, e.Error.Message)
	case "turn.completed":
		u := e.Usage
		c.usage = agent.TokenUsage{
			Input: int64(max(0, max(0, u.Input-u.Cached)-u.CacheWrite)), CacheRead: int64(u.Cached),
			CacheWrite: int64(u.CacheWrite), Output: int64(u.Output),
		}
		c.done = true
	}
	return nil
}

// addItem adds an item to the reply. It returns an error for unknown item types.
func (c *codexEventHandler) addItem(e *codexEvent) error {
	i := &e.Item
	ended := e.Type == "item.completed"
	switch i.Type {
	case "reasoning", "todo_list":
	case "error":
		c.lastError = i.Message
	case "agent_message":
		if ended {
			if len(c.texts) > 0 {
				c.onText("\n\n")
			}
			c.onText(i.Text)
			c.addText(i.Text)
		}
	case "mcp_tool_call":
		if i.Server != ServerName {
			return c.foreignToolError("the MCP server " + shortenToOneLine(i.Server))
		}
		if err := c.beginCall(i.ID, i.Tool, i.Arguments); err != nil || !ended {
			return err
		}
		switch {
		case i.Error != nil:
			c.endCall(i.ID, i.Error.Message, true)
		case i.Result != nil:
			c.endCall(i.ID, contentText(i.Result.Content), i.Status == "failed")
		default:
			c.endCall(i.ID, "", i.Status == "failed")
		}
	default:
		return c.foreignToolError("a tool of the kind " + shortenToOneLine(i.Type))
	}
	return nil
}
