package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// A client's broken answer about its roots is told to the model, and breaks nothing else: the next call asks again.
func TestInvalidRootsAreReported(t *testing.T) {
	for answer, broken := range map[string]bool{
		`"result":{"roots":5}`:                 true,
		`"result":{"roots":["file:///tmp"]}`:   true,
		`"result":{"roots":[null]}`:            true,
		`"result":[]`:                          true,
		`"result":{}`:                          false,
		`"result":{"roots":null}`:              false,
		`"result":{"roots":[{}]}`:              false,
		`"error":{"code":-1,"message":"mine"}`: false,
	} {
		c := talkWith(t, "2025-06-18", `{"roots":{}}`)
		got := askedForRoots(c, answer)
		if strings.Contains(got, "isError") != broken || broken && !strings.Contains(got, "(roots/list): ") {
			t.Errorf("%s: %s", answer, got)
		}
		if !broken {
			continue
		}
		if got := askedForRoots(c, `"result":{"roots":[]}`); strings.Contains(got, "isError") {
			t.Errorf("after %s: %s", answer, got)
		}
	}
}

// What a client has said comes before what it says next: its call is made when it has been asked for its new roots.
func TestChangedRootsApplyToNextCall(t *testing.T) {
	c := talkWith(t, "2025-06-18", `{"roots":{"listChanged":true}}`)
	for n := range 100 {
		c.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"call-%d","method":"tools/call","params":{"name":"test_tell","arguments":{}}}`, n))
		line := c.line()
		if !strings.Contains(line, `"roots/list"`) {
			t.Fatalf("call %d is answered before its roots are asked for: %s", n, line)
		}
		var asked struct{ ID json.RawMessage }
		if err := json.Unmarshal([]byte(line), &asked); err != nil {
			t.Fatal(err)
		}
		c.send(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"roots":[]}}`)
		c.line()
	}
}

// askedForRoots makes a call, answers the question for the roots, and returns what the call is answered with.
func askedForRoots(c *talk, answer string) string {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"test_tell","arguments":{}}}`)
	var question struct{ ID json.RawMessage }
	if err := json.Unmarshal([]byte(c.line()), &question); err != nil {
		c.t.Fatal(err)
	}
	c.send(`{"jsonrpc":"2.0","id":` + string(question.ID) + `,` + answer + `}`)
	return c.line()
}
