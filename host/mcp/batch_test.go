package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// inBatch are the answers in a line that answers a batch, by their ids.
func inBatch(t *testing.T, line string) map[string]string {
	t.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(line), &list); err != nil {
		t.Fatalf("%s is no list: %v", line, err)
	}
	answers := make(map[string]string)
	for _, one := range list {
		var answer struct{ ID json.RawMessage }
		if err := json.Unmarshal(one, &answer); err != nil {
			t.Fatal(err)
		}
		answers[string(answer.ID)] += string(one)
	}
	return answers
}

// A batch is answered by one list, which has an answer for each request, broken ones too, and none for notifications.
func TestABatchIsAnsweredAsOne(t *testing.T) {
	c := talkTo(t, "2025-03-26")
	c.send("  [" + strings.Join([]string{
		toolCall("1", "both"), `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}`,
		toolCall(`"two"`, "error"),
		`{"jsonrpc":"2.0","id":3,"method":"ping"}`, `{"jsonrpc":"2.0","id":3,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":4,"method":"nope"}`,
		`{"jsonrpc":"1.0","id":5}`, `7`, `[]`, `{"jsonrpc":"2.0","id":99,"result":{}}`,
	}, " , ") + "]  ")
	answers := inBatch(t, c.line())
	for id, want := range map[string][]string{
		"1": {"line one"}, `"two"`: {"until then"}, "3": {`"result":{}`, "already in use"}, "4": {"nope"}, "5": {`"error"`},
		"null": {`"error"`},
	} {
		if slices.ContainsFunc(want, func(part string) bool { return !strings.Contains(answers[id], part) }) {
			t.Errorf("%s is answered with %s; want %q", id, answers[id], want)
		}
		delete(answers, id)
	}
	if len(answers) > 0 {
		t.Errorf("there are answers besides: %v", answers)
	}
	c.send(`[{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}]`)
	c.send(toolCall("7", ""))
	if line := c.line(); !strings.HasPrefix(line, `{"jsonrpc":"2.0","id":7,"result"`) {
		t.Errorf("after notifications comes %s", line)
	}
}

// What is no batch is refused as a whole, and the session goes on.
func TestABatchHasItsBounds(t *testing.T) {
	one := `{"jsonrpc":"2.0","method":"ping","id":`
	many := make([]string, maxBatch+1)
	for i := range many {
		many[i] = one + fmt.Sprint(i) + "}"
	}
	c := talkTo(t, "2025-03-26")
	for _, batch := range []string{`[]`, `[` + one + `1}`, `[` + strings.Join(many, ",") + `]`} {
		c.send(batch)
		if line := c.line(); !strings.HasPrefix(line, "{") || !strings.Contains(line, `"error"`) {
			t.Errorf("%.60s is answered with %s", batch, line)
		}
	}
	c.send(`[` + strings.Join(many[1:], ",") + `]`)
	if answers := inBatch(t, c.line()); len(answers) != maxBatch {
		t.Errorf("the largest batch has %d answers", len(answers))
	}
}

// A batch waits for its last answer; a call of it can be cancelled.
func TestACallOfABatchIsCancelled(t *testing.T) {
	c := talkTo(t, "2025-03-26")
	c.send("[" + toolCall("1", "") + "," + toolCall("2", "wait") + "]")
	c.send(`[{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}]`)
	answers := inBatch(t, c.line())
	if len(answers) != 2 || !strings.Contains(answers["2"], "cancel") || strings.Contains(answers["1"], "isError") {
		t.Errorf("the batch is answered with %v", answers)
	}
}

// Over HTTP a batch is answered message by message, as that version has it, or refused as a whole.
func TestABatchOverHTTP(t *testing.T) {
	post := servedBy(t, telling{}, HTTPOptions{})
	_, _, session := post("", helloIn("2025-03-26", `{}`))
	status, answer, _ := post(session, "["+toolCall("1", "")+","+toolCall("2", "error")+"]")
	if status != http.StatusOK || !strings.Contains(answer, `"id":1,`) || !strings.Contains(answer, `"id":2,`) {
		t.Errorf("the batch is answered with %d %s", status, answer)
	}
	status, answer, _ = post(session, "["+toolCall("1", "")+",{}]")
	if status != http.StatusBadRequest || !json.Valid([]byte(answer)) {
		t.Errorf("a broken batch is answered with %d %s", status, answer)
	}
}

func FuzzBatch(f *testing.F) {
	f.Add([]byte(`[{"jsonrpc":"2.0","id":1,"method":"ping"},7]`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var answers strings.Builder
		c := Lines{Writer: &answers}.open()
		if messages := c.takeBatch(data); len(messages) > maxBatch || len(messages) == 0 && c.owing.Load() > 0 {
			t.Errorf("%d messages are taken, and %t", len(messages), c.owing.Load() > 0)
		}
		for line := range strings.Lines(answers.String()) {
			if !json.Valid([]byte(line)) {
				t.Errorf("it is answered with %s", line)
			}
		}
	})
}
