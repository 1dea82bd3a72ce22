package mcp

import (
	"encoding/json"
	"strings"
	"testing"
)

// A client's broken answer about its roots is told to the model in words: what was wrong with it, and what would be right.
// It breaks nothing else: the next call asks again.
func TestABrokenListOfRootsIsToldInWords(t *testing.T) {
	const none = "made"
	for answer, want := range map[string]string{
		`"result":{"roots":5}`:                 "roots in it is of another type",
		`"result":{"roots":[5]}`:               "roots.0 in it is of another type",
		`"result":{"roots":[{"uri":5}]}`:       "roots.0.uri in it is of another type",
		`"result":{"roots":["file:///tmp"]}`:   "roots.0 in it is of another type",
		`"result":{"roots":[null]}`:            "a root in it is null",
		`"result":[]`:                          "it is of another type",
		`"result":"no"`:                        "it is of another type",
		`"result":null`:                        none,
		`"result":{}`:                          none,
		`"result":{"roots":null}`:              none,
		`"result":{"roots":[{}]}`:              none,
		`"error":{"code":-1,"message":"mine"}`: none,
		`"error":{}`:                           none,
	} {
		for _, direct := range []bool{false, true} {
			c := talkWith(t, "2025-06-18", `{"roots":{}}`, direct)
			got := askedForRoots(c, answer)
			if want == none {
				if strings.Contains(got, "isError") {
					t.Errorf("%s, direct %t: %s", answer, direct, got)
				}
				continue
			}
			if !strings.Contains(got, "can't be read: "+want+`; the protocol has {\"roots\":[{\"uri\":`) || strings.Contains(got, "Go ") {
				t.Errorf("%s, direct %t: %s", answer, direct, got)
			}
			if got := askedForRoots(c, `"result":{"roots":[]}`); strings.Contains(got, "isError") {
				t.Errorf("after %s, direct %t: %s", answer, direct, got)
			}
		}
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
