package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/host/agent"
)

// claudePrefix is before the names of the session's tools.
const claudePrefix = "mcp__" + ServerName + "__"

// claudeArguments are those of Claude Code: JSON both ways, no tools of its own, one server and no other, no settings
// but these, nobody to ask, and nothing kept.
func claudeArguments(c *CLI, system string, r agent.Request) []string {
	servers, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{
		ServerName: map[string]any{"type": "stdio", "command": c.o.Server[0], "args": c.o.Server[1:]},
	}})
	args := []string{
		"--output-format", "stream-json", "--verbose", "--input-format", "stream-json", "--include-partial-messages",
		"--tools=", "--mcp-config", string(servers), "--strict-mcp-config", "--setting-sources=",
		"--allowedTools=" + claudePrefix + "*", "--permission-mode=dontAsk", "--permission-prompts=none",
		"--disable-slash-commands", "--no-session-persistence",
	}
	if system != "" {
		args = append(args, "--system-prompt="+system)
	}
	if c.o.Model != "" {
		args = append(args, "--model="+c.o.Model)
	}
	if r.Left.Iterations > 0 {
		args = append(args, "--max-turns="+strconv.Itoa(r.Left.Iterations))
	}
	if r.Left.CostUSD > 0 {
		args = append(args, "--max-budget-usd="+strconv.FormatFloat(r.Left.CostUSD, 'f', -1, 64))
	}
	return args
}

// claudeEnvironment keeps Claude Code from what arguments can't: it reads files that a prompt mentions by @, and those
// with instructions, it tells its maker of itself, and asks again by itself.
func claudeEnvironment(c *CLI) map[string]string {
	return map[string]string{
		"ANTHROPIC_BASE_URL":                       c.base(),
		"CLAUDE_CODE_DISABLE_ATTACHMENTS":          "1",
		"CLAUDE_CODE_DISABLE_FILE_MENTIONS":        "1",
		"CLAUDE_CODE_DISABLE_CLAUDE_MDS":           "1",
		"CLAUDE_CODE_DISABLE_AUTO_MEMORY":          "1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
		"DISABLE_AUTOUPDATER":                      "1",
		"CLAUDE_CODE_MAX_RETRIES":                  "0",
		"ENABLE_TOOL_SEARCH":                       "false", // it would be a tool of its own
		// how long a call may take is the host's to say, and no call goes on by itself
		"MCP_TOOL_TIMEOUT":                        "86400000",
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS":    "1",
		"CLAUDE_CODE_DISABLE_MCP_TASK_BACKGROUND": "1",
	}
}

func claudeInput(prompt string) ([]byte, error) {
	line, err := json.Marshal(map[string]any{"type": "user", "message": map[string]any{
		"role": "user", "content": []any{map[string]string{"type": "text", "text": prompt}},
	}})
	return append(line, '\n'), err
}

// claude reads Claude Code's events.
type claude struct {
	*assembly
	begun    bool // it has said which tools it has
	streamed bool // something of the present text was passed on
}

// claudeEvent is an event, as far as it is read.
type claudeEvent struct {
	Type    string
	Subtype string

	// system, init
	Tools   []string
	Servers []struct{ Name, Status string } `json:"mcp_servers"`

	// stream_event
	Event struct {
		Delta struct{ Type, Text string }
	}

	// assistant, user
	Message struct{ Content json.RawMessage }

	// result
	IsError    bool `json:"is_error"`
	Result     string
	Errors     []string
	Status     int     `json:"api_error_status"`
	StopReason string  `json:"stop_reason"`
	Cost       float64 `json:"total_cost_usd"`
	Usage      struct {
		Input      agent.Count `json:"input_tokens"`
		CacheRead  agent.Count `json:"cache_read_input_tokens"`
		CacheWrite agent.Count `json:"cache_creation_input_tokens"`
		Output     agent.Count `json:"output_tokens"`
	}
	Turns int `json:"num_turns"`
}

func (c *claude) read(line []byte) error {
	var e claudeEvent
	if err := json.Unmarshal(line, &e); err != nil {
		return c.wrong("wrote what is no event (%v)", err)
	}
	switch e.Type {
	case "system":
		if e.Subtype == "init" {
			return c.init(&e)
		}
		return nil
	case "result":
		return c.result(&e)
	case "control_request":
		return c.wrong("asks for something that nobody can answer")
	case "stream_event", "assistant", "user":
	default:
		return nil
	}
	if !c.begun {
		return c.wrong("began before it said which tools it has")
	}
	if e.Type == "stream_event" {
		if text := e.Event.Delta.Text; e.Event.Delta.Type == "text_delta" && text != "" {
			c.streamed = true
			c.onText(text)
		}
		return nil
	}
	return c.message(&e)
}

// init looks at the tools that it has and at where they are from.
func (c *claude) init(e *claudeEvent) error {
	for _, tool := range e.Tools {
		if !strings.HasPrefix(tool, claudePrefix) {
			return c.foreign("the tool " + clean(tool))
		}
	}
	for _, s := range e.Servers {
		if s.Name != ServerName {
			return c.foreign("the MCP server " + clean(s.Name))
		}
		if s.Status != "connected" {
			return c.wrong("has not reached picoclaw's MCP server, which is %s", clean(s.Status))
		}
	}
	if len(e.Servers) != 1 {
		return c.wrong("has %d MCP servers in place of picoclaw's", len(e.Servers))
	}
	c.begun = true
	return nil
}

// message reads a whole message: texts, calls, and their results.
func (c *claude) message(e *claudeEvent) error {
	var blocks []struct {
		Type, Text string
		ID, Name   string
		Input      json.RawMessage
		ToolUseID  string `json:"tool_use_id"`
		Content    json.RawMessage
		IsError    bool `json:"is_error"`
	}
	if json.Unmarshal(e.Message.Content, &blocks) != nil {
		return nil // a plain text of the user's
	}
	for _, b := range blocks {
		switch {
		case b.Type == "text" && e.Type == "assistant":
			if !c.streamed {
				c.onText(b.Text)
			}
			c.streamed = false
			c.text(b.Text)
		case strings.HasSuffix(b.Type, "tool_use"):
			name, ours := strings.CutPrefix(b.Name, claudePrefix)
			if !ours || b.Type != "tool_use" {
				return c.foreign("used the tool " + clean(b.Name))
			}
			if err := c.call(b.ID, name, b.Input); err != nil {
				return err
			}
		case b.Type == "tool_result":
			c.assembly.result(b.ToolUseID, contentText(b.Content), b.IsError)
		}
	}
	return nil
}

// contentText is a result as text: it is one, or a list of blocks.
func contentText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var blocks []struct{ Text string }
	_ = json.Unmarshal(raw, &blocks) // of others there is nothing to show
	var texts []string
	for _, b := range blocks {
		if b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// result reads how it has ended.
func (c *claude) result(e *claudeEvent) error {
	if !c.begun && !e.IsError {
		return c.wrong("answered before it said which tools it has")
	}
	left := c.request.Left
	switch {
	case e.Subtype == "error_max_turns":
		return &agent.BudgetError{Budget: "iterations", Setting: "agents.defaults.max_tool_iterations",
			Message: fmt.Sprintf("%s has asked the model %d times, which is as often as it may", c.name, left.Iterations)}
	case e.Subtype == "error_max_budget_usd":
		return &agent.BudgetError{Budget: "cost_usd", Setting: "agents.defaults.budget.cost_usd",
			Message: fmt.Sprintf("%s has used up the %v US dollars that were left", c.name, left.CostUSD)}
	case e.IsError || e.Subtype != "success":
		return c.failed(e.Status, cmp.Or(e.Result, strings.Join(e.Errors, "; "), e.Subtype))
	}
	if len(c.texts) == 0 && e.Result != "" {
		c.onText(e.Result)
		c.text(e.Result)
	}
	switch e.StopReason {
	case "max_tokens":
		c.stop = agent.Length
	case "refusal":
		c.stop = agent.Refused
	}
	c.usage = agent.Usage{
		Input: int64(e.Usage.Input), CacheRead: int64(e.Usage.CacheRead), CacheWrite: int64(e.Usage.CacheWrite),
		Output: int64(e.Usage.Output), CostUSD: e.Cost,
	}
	c.done = true
	return nil
}
