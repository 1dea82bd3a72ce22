package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func toolCall(id, kind string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"test_tell","arguments":{"kind":"` + kind + `"}}}`
}

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
	for _, direct := range []bool{false, true} {
		c := talkTo(t, batched, direct)
		c.send("  [" + strings.Join([]string{
			toolCall("1", "both"), `{"jsonrpc":"2.0","method":"notifications/initialized"}`, toolCall(`"two"`, "error"),
			`{"jsonrpc":"2.0","id":3,"method":"ping"}`, `{"jsonrpc":"2.0","id":3,"method":"ping"}`, `{"jsonrpc":"2.0","id":4,"method":"nope"}`,
			`{"jsonrpc":"2.0","id":5}`, `7`, `[]`, strings.Replace(hello, `"id":1`, `"id":6`, 1), `{"jsonrpc":"2.0","id":99,"result":{}}`,
			`{"jsonrpc":"2.0","id":8,"method":"subscriptions/listen","params":{}}`,
		}, " , ") + "]  ")
		answers := inBatch(t, c.line())
		for id, want := range map[string][]string{
			"1": {"line one"}, `"two"`: {"until then"}, "3": {`"result":{}`, "give each request an id of its own"}, "4": {"there is no method"},
			"5": {"it has no method"}, "6": {"initialize can't be part of a batch"}, "8": {"subscriptions/listen can't be part of a batch"}, "null": {"it is a number, not an object", "it is an array, not an object"},
		} {
			if slices.ContainsFunc(want, func(part string) bool { return !strings.Contains(answers[id], part) }) {
				t.Errorf("direct %t: %s is answered with %s; want %q", direct, id, answers[id], want)
			}
			delete(answers, id)
		}
		if len(answers) > 0 {
			t.Errorf("direct %t: there are answers besides: %v", direct, answers)
		}
		c.send(`[{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}]`)
		c.send(toolCall("7", ""))
		if line := c.line(); !strings.HasPrefix(line, `{"jsonrpc":"2.0","id":7,"result"`) {
			t.Errorf("direct %t: after notifications comes %s", direct, line)
		}
	}
}

// What is no batch is refused as a whole, and the session goes on.
func TestABatchHasItsBounds(t *testing.T) {
	one := `{"jsonrpc":"2.0","method":"ping","id":`
	many := make([]string, maxBatch+1)
	for i := range many {
		many[i] = one + fmt.Sprint(i) + "}"
	}
	c := talkTo(t, batched, true)
	for batch, want := range map[string]string{
		`[]`:                                "it is an array with nothing in it",
		`[` + one + `1}`:                    "it is not JSON",
		`[` + strings.Join(many, ",") + `]`: "a batch has at most 100",
	} {
		c.send(batch)
		if line := c.line(); !strings.HasPrefix(line, "{") || !strings.Contains(line, want) {
			t.Errorf("%.60s is answered with %s; want %q", batch, line, want)
		}
	}
	c.send(`[` + strings.Join(many[1:], ",") + `]`)
	if answers := inBatch(t, c.line()); len(answers) != maxBatch {
		t.Errorf("the largest batch has %d answers", len(answers))
	}
	for _, version := range []string{"2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"} {
		c := talkTo(t, version, true)
		c.send(`[` + one + `1}]`)
		want := "it is an array, which version " + c.version + " of the protocol does not have; send one message at a time"
		if line := c.line(); !strings.Contains(line, want) {
			t.Errorf("in %s a batch is answered with %s", version, line)
		}
	}
}

// A batch waits for its last answer; a call of it can be cancelled, and its ids are taken until they are answered.
func TestACallOfABatchIsCancelled(t *testing.T) {
	for _, direct := range []bool{false, true} {
		c := talkTo(t, batched, direct)
		c.send("[" + toolCall("1", "") + "," + toolCall("2", "wait") + "]")
		c.send(toolCall("2", ""))
		if line := c.line(); !strings.Contains(line, "give each request an id of its own") {
			t.Errorf("direct %t: an id of the batch's is answered with %s", direct, line)
		}
		c.send(`[{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}]`)
		answers := inBatch(t, c.line())
		if len(answers) != 2 || !strings.Contains(answers["2"], "it was cancelled") || strings.Contains(answers["1"], "isError") {
			t.Errorf("direct %t: the batch is answered with %v", direct, answers)
		}
	}
}

// A script may send everything at once: whether there are batches is known when initialize is answered, which is answered first.
func TestWhatComesBehindInitializeIsAnsweredBehindIt(t *testing.T) {
	for i := range 40 {
		call, want := toolCall("1", ""), `{"jsonrpc":"2.0","id":1,"result"`
		if i%2 == 0 {
			call, want = "["+call+"]", "["+want
		}
		answers, output := io.Pipe()
		in := strings.NewReader(helloIn(batched, `{}`) + "\n" + call + "\n")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = NewServer(telling{}, "test", "").Run(t.Context(), Lines{Reader: in, Writer: output, Patience: endGrace})
			_ = output.Close()
		}()
		text, err := io.ReadAll(answers)
		<-ended
		if _, second, _ := strings.Cut(string(text), "\n"); err != nil || !strings.HasPrefix(second, want) {
			t.Fatalf("the answers are %s (%v)", text, err)
		}
	}
}

// A session begins when the client has the answer, not when there is one.
func TestASessionBeginsWhenItsAnswerIsWritten(t *testing.T) {
	d := newDue()
	if d.beginnings() != nil {
		t.Error("a session begins before anybody asked")
	}
	id, err := jsonrpc.MakeID("a")
	if err == nil {
		err = d.add(&jsonrpc.Request{ID: id, Method: "initialize"}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	begun := d.beginnings()
	answered := d.answer(id)
	select {
	case <-begun:
		t.Error("the session has begun before its answer is written")
	default:
	}
	d.written(answered)
	<-begun
	if d.beginnings() != nil {
		t.Error("the session still begins when its answer is written")
	}
}

// What the answers to a batch may take together is bounded.
func TestTheAnswersToABatchAreBounded(t *testing.T) {
	b := &batch{missing: 3}
	long := []byte(`{"text":"` + strings.Repeat("x", maxBatchAnswers-1000) + `"}`)
	for _, answer := range [][]byte{long, long} {
		id, err := jsonrpc.MakeID("a")
		if err != nil {
			t.Fatal(err)
		}
		if line := b.add(id, answer); line != nil {
			t.Error("the batch is answered before its last answer")
		}
	}
	line := b.add(jsonrpc.ID{}, []byte("{}\n"))
	if len(line) > maxBatchAnswers+1000 || !strings.Contains(string(line[len(long):]), `"id":"a"`) ||
		!strings.HasSuffix(string(line), "},{}]\n") || !json.Valid(line) {
		t.Errorf("%d bytes, which end with %s", len(line), line[len(long):])
	}
}

// Over HTTP a batch is answered message by message, as that version has it, or refused as a whole.
func TestABatchOverHTTP(t *testing.T) {
	post := servedBy(t, telling{}, HTTPOptions{})
	_, _, session := post("", helloIn(batched, `{}`))
	status, answer, _ := post(session, "["+toolCall("1", "")+","+toolCall("2", "error")+"]")
	if status != http.StatusOK || !strings.Contains(answer, `"id":1,`) || !strings.Contains(answer, `"id":2,`) {
		t.Errorf("the batch is answered with %d %s", status, answer)
	}
	_, _, newer := post("", helloIn("2025-06-18", `{}`))
	for _, test := range []struct{ session, batch, want string }{
		{session, "[" + toolCall("1", "") + "," + toolCall("1", "") + "]", "message 2 of 2: there is a request with the id 1 already"},
		{session, "[" + toolCall("1", "") + ",{}]", "message 2 of 2: "},
		{session, "[" + hello + "]", "message 1 of 1: initialize can't be part of a batch"},
		{session, "[" + strings.Repeat("1,", maxBatch) + "1]", "at most 100"},
		{newer, "[" + toolCall("1", "") + "]", "which version 2025-06-18 of the protocol does not have"},
		{"", "[" + toolCall("1", "") + "]", "send one message at a time"},
	} {
		status, answer, _ := post(test.session, test.batch)
		var got rejected
		if err := json.Unmarshal([]byte(answer), &got); err != nil || status != http.StatusBadRequest || !strings.Contains(got.Error.Message, test.want) {
			t.Errorf("%.80s is answered with %d %s; want %q", test.batch, status, answer, test.want)
		}
	}
}

func FuzzBatch(f *testing.F) {
	f.Add([]byte(`[{"jsonrpc":"2.0","id":1,"method":"ping"},7]`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := split(data)
		if err == nil && (len(list) == 0 || len(list) > maxBatch) {
			t.Errorf("a batch of %d is taken", len(list))
		}
		if sound(data) == nil && err != nil {
			t.Errorf("sound is what can't be split: %v", err)
		}
	})
}
