package mcp

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// A session speaks the version that its client was told, whatever the client has asked for: its results have what that
// version has, and its person is asked as that version does it.
func TestSessionUsesNegotiatedVersion(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"test_tell","arguments":{"kind":"both"}}}`
	for asked, want := range map[string]struct {
		version    string
		structured bool
	}{
		"2024-11-05": {"2024-11-05", false},
		"2025-03-26": {"2025-03-26", false},
		"2025-06-18": {"2025-06-18", true},
		"2025-11-25": {"2025-11-25", true},
		"1999-01-01": {"2025-11-25", true},
		"2025-04-01": {"2025-11-25", true},
		"2026-07-28": {"2025-11-25", true},
		"2999-01-01": {"2025-11-25", true},
		"":           {"2025-11-25", true},
		"latest":     {"2025-11-25", true},
	} {
		func() {
			c := talkWith(t, asked, `{"roots":{}}`)
			if c.version != want.version {
				t.Errorf("asked for %q, the answer is %q; want %q", asked, c.version, want.version)
			}
			c.send(call)
			line := c.line()
			if !strings.Contains(line, `"roots/list"`) {
				t.Errorf("%q: the client's roots are not asked for: %s", asked, line)
				return
			}
			var question struct{ ID json.RawMessage }
			if err := json.Unmarshal([]byte(line), &question); err != nil {
				t.Fatal(err)
			}
			c.send(`{"jsonrpc":"2.0","id":` + string(question.ID) + `,"result":{"roots":[]}}`)
			checkForm(t, asked, c.line(), want.structured)
		}()
		post := servedBy(t, telling{}, HTTPOptions{})
		status, answer, session := post("", helloIn(asked, `{}`))
		if status != http.StatusOK || !strings.Contains(answer, `"protocolVersion":"`+want.version+`"`) {
			t.Errorf("asked for %q over HTTP: %d %s", asked, status, answer)
		}
		_, answer, _ = post(session, call)
		checkForm(t, asked, answer, want.structured)
	}
}

// checkForm checks that an answer has structured content, or has none, and nothing of the versions that go in rounds.
func checkForm(t *testing.T, asked, answer string, structured bool) {
	t.Helper()
	if got := strings.Contains(answer, `"structuredContent":{"n":1}`); got != structured {
		t.Errorf("%q: structured content is %t; want %t: %s", asked, got, structured, answer)
	}
	if strings.Contains(answer, "resultType") || !strings.Contains(answer, "line one") {
		t.Errorf("%q: %s", asked, answer)
	}
}
