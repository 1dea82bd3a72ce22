package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// requestIDs are request ids that the SDK would change, and some that it would not.
var requestIDs = []string{
	"9007199254740993", "-9007199254740993", "18446744073709551615", "1.5", "1e3", "-0.25", "1732712345678901234",
	"123456789012345678901234567890", "9007199254740992", "7", "0", "-1", `"1.5"`, `"9007199254740993"`, `"a"`,
}

func TestRequestIDsArePreserved(t *testing.T) {
	t.Run("stdio", func(t *testing.T) {
		c := talkTo(t, "2025-06-18")
		for _, id := range requestIDs {
			c.send(`{"jsonrpc":"2.0","method":"ping","id": ` + id + ` }`)
			if line := c.line(); !strings.Contains(line, `"id":`+id+`,"result":{}`) {
				t.Errorf("the ping %s is answered with %s", id, line)
			}
		}
		c.send(toolCall("1.5", "wait"))
		c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.5}}`)
		if line := c.line(); !strings.Contains(line, `"id":1.5,`) {
			t.Errorf("the cancelled call is answered with %s", line)
		}
	})
	t.Run("http", func(t *testing.T) {
		send := serve(t, HTTPOptions{})
		_, _, session := send("", hello)
		for _, id := range requestIDs {
			for _, method := range []string{"ping", "tools/list", "unknown"} {
				_, answer, _ := send(session, `{"id":`+id+`,"jsonrpc":"2.0","method":"`+method+`"}`)
				if !strings.Contains(answer, `"id":`+id+`,`) && !strings.Contains(answer, `"id":`+id+`}`) {
					t.Errorf("%s with the id %s is answered with %s", method, id, answer)
				}
			}
		}
	})
}

func FuzzExactIDs(f *testing.F) {
	for _, id := range requestIDs {
		f.Add(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"a","params":{"requestId":%s,"id":2.5}}`, id, id))
		f.Add(fmt.Sprintf(`{"params":{"requestId":%s},"id" :%s}`, id, id))
	}
	f.Add(`{"id":1.5,"id":2.5,"params":{"requestId":3.5,"requestId":4.5}}`)
	f.Fuzz(func(t *testing.T, message string) {
		ids := newIDPreserver()
		quoted := ids.quoteIDs([]byte(message))
		if restored := string(ids.restoreIDs(quoted)); restored != message {
			t.Errorf("%s becomes %s", message, restored)
		}
		if json.Valid([]byte(message)) && !json.Valid(quoted) {
			t.Errorf("%s becomes %s", message, quoted)
		}
	})
}
