package cli

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/picoclaw/picoclaw/host/agent"
)

// codexOff are the features that are tools or tell of them, and one that has it wait for a network for ever. It has no
// switch for its patches, nor for the JavaScript that some of its models call tools by: the first can change nothing,
// and end it; the second can do nothing else.
var codexOff = []string{"shell_tool", "unified_exec", "shell_snapshot", "view_image", "image_generation", "multi_agent",
	"goals", "sleep_tool", "apps", "plugins", "skill_search", "tool_suggest", "memories", "hooks", "computer_use",
	"browser_use", "unbounded_connection_retries"}

// codexArguments are those of Codex: events as JSON, no settings but these, a read-only sandbox, and one server.
func codexArguments(c *CLI, system string, r agent.Request) []string {
	settings := map[string]string{
		"mcp_servers." + ServerName: fmt.Sprintf(
			`{command=%s,args=%s,required=true,default_tools_approval_mode="approve",startup_timeout_sec=60,tool_timeout_sec=86400}`,
			quoted(c.o.Server[0]), quoted(c.o.Server[1:])),
		// a provider of its own has no retries and no sockets, and takes the key from any variable
		"model_provider": quoted(ServerName),
		"model_providers." + ServerName: fmt.Sprintf(
			`{name=%s,base_url=%s,env_key=%s,wire_api="responses",supports_websockets=false,request_max_retries=0,stream_max_retries=0}`,
			quoted(c.name), quoted(c.base()), quoted(cmp.Or(c.keyAs, c.maker.key))),
		"web_search":                  quoted("disabled"),
		"agents.enabled":              "false",
		"analytics.enabled":           "false",
		"check_for_update_on_startup": "false",
		"project_doc_max_bytes":       "0",
	}
	for _, feature := range codexOff {
		settings["features."+feature] = "false"
	}
	if system != "" {
		settings["developer_instructions"] = quoted(system)
	}
	args := []string{"exec", "--json", "--ephemeral", "--ignore-user-config", "--ignore-rules", "--skip-git-repo-check",
		"--sandbox", "read-only", "--color", "never"}
	if c.o.Model != "" {
		args = append(args, "--model", c.o.Model)
	}
	return append(append(args, sortedArguments("-c", settings)...), "-")
}

// quoted is a text or a list of texts as TOML has it, in which JSON's are the same.
func quoted[T string | []string](value T) string {
	if text, err := json.Marshal(value); err == nil && string(text) != "null" {
		return string(text)
	}
	return "[]"
}

// codex reads Codex's events.
type codex struct{ *assembly }

// codexEvent is an event, as far as it is read.
type codexEvent struct {
	Type    string
	Message string // error
	Error   struct{ Message string }
	Usage   struct {
		Input      agent.Count `json:"input_tokens"` // all of it
		Cached     agent.Count `json:"cached_input_tokens"`
		CacheWrite agent.Count `json:"cache_write_input_tokens"`
		Output     agent.Count `json:"output_tokens"`
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

func (c *codex) read(line []byte) error {
	var e codexEvent
	if err := json.Unmarshal(line, &e); err != nil {
		return c.wrong("wrote what is no event (%v)", err)
	}
	switch e.Type {
	case "item.started", "item.updated", "item.completed":
		return c.item(&e)
	case "error": // it may go on
		c.said = e.Message
	case "turn.failed":
		return c.failed(0, e.Error.Message)
	case "turn.completed":
		u := e.Usage
		c.usage = agent.Usage{
			Input: int64(max(0, max(0, u.Input-u.Cached)-u.CacheWrite)), CacheRead: int64(u.Cached),
			CacheWrite: int64(u.CacheWrite), Output: int64(u.Output),
		}
		c.done = true
	}
	return nil
}

// item reads a part of its work. What is not known is not allowed.
func (c *codex) item(e *codexEvent) error {
	i := &e.Item
	ended := e.Type == "item.completed"
	switch i.Type {
	case "reasoning", "todo_list":
	case "error":
		c.said = i.Message
	case "agent_message":
		if ended {
			if len(c.texts) > 0 {
				c.onText("\n\n")
			}
			c.onText(i.Text)
			c.text(i.Text)
		}
	case "mcp_tool_call":
		if i.Server != ServerName {
			return c.foreign("the MCP server " + clean(i.Server))
		}
		if err := c.call(i.ID, i.Tool, i.Arguments); err != nil || !ended {
			return err
		}
		switch {
		case i.Error != nil:
			c.result(i.ID, i.Error.Message, true)
		case i.Result != nil:
			c.result(i.ID, contentText(i.Result.Content), i.Status == "failed")
		default:
			c.result(i.ID, "", i.Status == "failed")
		}
	default:
		return c.foreign("a tool of the kind " + clean(i.Type))
	}
	return nil
}
