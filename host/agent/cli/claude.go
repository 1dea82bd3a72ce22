package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/host/agent"
)

// claudePrefix begins the names of picoclaw's tools in Claude Code.
const claudePrefix = "mcp__" + ServerName + "__"

// claudeArguments returns Claude Code's arguments: JSON input and output, picoclaw's MCP server as the only tools, and
// no settings, prompts or stored session.
func claudeArguments(c *ProgramModel, system string, r agent.ModelRequest) []string {
	servers, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{
		ServerName: map[string]any{"type": "stdio", "command": c.options.Server[0], "args": c.options.Server[1:]},
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
	if c.options.Model != "" {
		args = append(args, "--model="+c.options.Model)
	}
	if r.Remaining.Iterations > 0 {
		args = append(args, "--max-turns="+strconv.Itoa(r.Remaining.Iterations))
	}
	if r.Remaining.CostUSD > 0 {
		args = append(args, "--max-budget-usd="+strconv.FormatFloat(r.Remaining.CostUSD, 'f', -1, 64))
	}
	return args
}

// claudeEnvironment returns variables that disable features of Claude Code: files mentioned with @, instruction files,
// telemetry and retries. Claude Code has no arguments for these.
func claudeEnvironment(c *ProgramModel) map[string]string {
	return map[string]string{
		"ANTHROPIC_BASE_URL":                       c.baseURL(),
		"CLAUDE_CODE_DISABLE_ATTACHMENTS":          "1",
		"CLAUDE_CODE_DISABLE_FILE_MENTIONS":        "1",
		"CLAUDE_CODE_DISABLE_CLAUDE_MDS":           "1",
		"CLAUDE_CODE_DISABLE_AUTO_MEMORY":          "1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
		"DISABLE_AUTOUPDATER":                      "1",
		"CLAUDE_CODE_MAX_RETRIES":                  "0",
		"ENABLE_TOOL_SEARCH":                       "false", // would add a tool
		// the host sets call timeouts; no background calls
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

// claudeEventHandler adds Claude Code's events to a reply.
type claudeEventHandler struct {
	*replyAssembler
	initialised bool // it reported its tools
	streamed    bool // part of the current text was sent
}

// claudeEvent has the relevant fields of an event.
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
		Input      agent.TokenCount `json:"input_tokens"`
		CacheRead  agent.TokenCount `json:"cache_read_input_tokens"`
		CacheWrite agent.TokenCount `json:"cache_creation_input_tokens"`
		Output     agent.TokenCount `json:"output_tokens"`
	}
	Turns int `json:"num_turns"`
}

func (c *claudeEventHandler) handleEvent(line []byte) error {
	var e claudeEvent
	if err := json.Unmarshal(line, &e); err != nil {
		return c.protocolError("wrote an invalid event (%v)", err)
	}
	switch e.Type {
	case "system":
		if e.Subtype == "init" {
			return c.checkToolsAndServers(&e)
		}
		return nil
	case "result":
		return c.handleResult(&e)
	case "control_request":
		return c.protocolError("sent a request that cannot be answered")
	case "stream_event", "assistant", "user":
	default:
		return nil
	}
	if !c.initialised {
		return c.protocolError("began before it listed its tools")
	}
	if e.Type == "stream_event" {
		if text := e.Event.Delta.Text; e.Event.Delta.Type == "text_delta" && text != "" {
			c.streamed = true
			c.onText(text)
		}
		return nil
	}
	return c.addMessage(&e)
}

// checkToolsAndServers returns an error if the program has other tools or servers than picoclaw's.
func (c *claudeEventHandler) checkToolsAndServers(e *claudeEvent) error {
	for _, tool := range e.Tools {
		if !strings.HasPrefix(tool, claudePrefix) {
			return c.foreignToolError("the tool " + shortenToOneLine(tool))
		}
	}
	for _, s := range e.Servers {
		if s.Name != ServerName {
			return c.foreignToolError("the MCP server " + shortenToOneLine(s.Name))
		}
		if s.Status != "connected" {
			return c.protocolError("has not reached picoclaw's MCP server, which is %s", shortenToOneLine(s.Status))
		}
	}
	if len(e.Servers) != 1 {
		return c.protocolError("has %d MCP servers instead of picoclaw's", len(e.Servers))
	}
	c.initialised = true
	return nil
}

// addMessage adds the texts, calls and results of a complete message to the reply.
func (c *claudeEventHandler) addMessage(e *claudeEvent) error {
	var blocks []struct {
		Type, Text string
		ID, Name   string
		Input      json.RawMessage
		ToolUseID  string `json:"tool_use_id"`
		Content    json.RawMessage
		IsError    bool `json:"is_error"`
	}
	if json.Unmarshal(e.Message.Content, &blocks) != nil {
		return nil // plain user text
	}
	for _, b := range blocks {
		switch {
		case b.Type == "text" && e.Type == "assistant":
			if !c.streamed {
				c.onText(b.Text)
			}
			c.streamed = false
			c.addText(b.Text)
		case strings.HasSuffix(b.Type, "tool_use"):
			name, ours := strings.CutPrefix(b.Name, claudePrefix)
			if !ours || b.Type != "tool_use" {
				return c.foreignToolError("used the tool " + shortenToOneLine(b.Name))
			}
			if err := c.beginCall(b.ID, name, b.Input); err != nil {
				return err
			}
		case b.Type == "tool_result":
			c.endCall(b.ToolUseID, contentText(b.Content), b.IsError)
		}
	}
	return nil
}

// contentText returns the text of a call's result, which is a string or a list of blocks.
func contentText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var blocks []struct{ Text string }
	_ = json.Unmarshal(raw, &blocks) // other blocks have no text
	var texts []string
	for _, b := range blocks {
		if b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// handleResult handles the final event, which completes the reply or reports an error.
func (c *claudeEventHandler) handleResult(e *claudeEvent) error {
	if !c.initialised && !e.IsError {
		return c.protocolError("answered before it listed its tools")
	}
	left := c.request.Remaining
	switch {
	case e.Subtype == "error_max_turns":
		return &agent.BudgetExceededError{Budget: "iterations", Setting: "agents.defaults.max_tool_iterations",
			Message: fmt.Sprintf("%s has reached its limit of %d requests to the model", c.name, left.Iterations)}
	case e.Subtype == "error_max_budget_usd":
		return &agent.BudgetExceededError{Budget: "cost_usd", Setting: "agents.defaults.budget.cost_usd",
			Message: fmt.Sprintf("%s has used the remaining %v US dollars", c.name, left.CostUSD)}
	case e.IsError || e.Subtype != "success":
		return c.failureError(e.Status, cmp.Or(e.Result, strings.Join(e.Errors, "; "), e.Subtype))
	}
	if len(c.texts) == 0 && e.Result != "" {
		c.onText(e.Result)
		c.addText(e.Result)
	}
	switch e.StopReason {
	case "max_tokens":
		c.stop = agent.StopLength
	case "refusal":
		c.stop = agent.StopRefused
	}
	c.usage = agent.TokenUsage{
		Input: int64(e.Usage.Input), CacheRead: int64(e.Usage.CacheRead), CacheWrite: int64(e.Usage.CacheWrite),
		Output: int64(e.Usage.Output), CostUSD: e.Cost,
	}
	c.done = true
	return nil
}
