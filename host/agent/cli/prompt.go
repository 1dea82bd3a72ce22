package cli

import (
	"encoding/json"
	"strings"

	"github.com/picoclaw/picoclaw/host/agent"
)

// maxArgumentBytes limits a program's argument to less than the kernel's limit.
const maxArgumentBytes = 96 << 10

// promptText encodes a conversation as one prompt. It encodes several messages as JSON lines, so that no message can
// imitate another. It does the same for text that the program would interpret as a command.
func promptText(messages []agent.Message) string {
	if len(messages) == 1 && messages[0].Role == agent.User {
		if text := strings.TrimSpace(messages[0].Text); text != "" && strings.IndexByte("/!#", text[0]) < 0 {
			return messages[0].Text
		}
	}
	type call struct {
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments,omitempty"`
	}
	type message struct {
		Role   agent.MessageRole `json:"role"`
		Text   string            `json:"text,omitempty"`
		Calls  []call            `json:"calls,omitempty"`
		Failed bool              `json:"failed,omitempty"`
	}
	var b strings.Builder
	b.WriteString("This is the conversation so far, as JSON, a message a line. You are its assistant. Go on where it ends; " +
		"what is done in it is done.\n\n")
	for _, m := range messages {
		told := message{Role: m.Role, Text: m.Text, Failed: m.Failed}
		for _, c := range m.Calls {
			told.Calls = append(told.Calls, call{c.Tool, c.Arguments})
		}
		line, err := json.Marshal(told)
		if err != nil {
			line, _ = json.Marshal(message{Role: m.Role, Text: m.Text})
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}
