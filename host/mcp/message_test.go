package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
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

func TestCutArguments(t *testing.T) {
	t.Parallel()
	for message, want := range map[string][2]string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"w", "arguments" : {"a":[1,"é"]} ,"_meta":{}}}`: {
			`{"a":[1,"é"]}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"w", "arguments" : {} ,"_meta":{}}}`},
		`{"params":{"arguments":null},"method":"tools/call"}`:                     {`null`, `{"params":{"arguments":{}},"method":"tools/call"}`},
		`{"params":{"name":"w"},"method":"tools/call"}`:                           {},
		`{"params":{"arguments":{}},"method":"prompts/get"}`:                      {},
		`{"params":{"Arguments":{}},"method":"tools/call"}`:                       {},
		`{"params":{"arguments":{"a":1,"a":2}},"method":"tools/call"}`:            {},
		`{"params":{"arguments":{}},"params":{"name":"w"},"method":"tools/call"}`: {},
		`{"params":{"arguments":{},"arguments":{"a":1}},"method":"tools/call"}`:   {},
		`{"params":{"arguments":{}},"method":"tools/call"} {"method":"second"}`:   {},
		`{"params":{"arguments":{"a":"` + "\xff" + `"}},"method":"tools/call"}`:   {},
		`{"params":{"arguments":{"a":1},"method":"tools/call"}`:                   {},
		`[{"params":{"arguments":{"a":1}},"method":"tools/call"}]`:                {},
	} {
		arguments, rest := cutOutArguments([]byte(message))
		if string(arguments) != want[0] || string(rest) != want[1] {
			t.Errorf("%s: %s, %s", message, arguments, rest)
		}
	}
}

// taking is a session with one tool, which passes on its arguments.
type taking struct {
	nothing
	got chan json.RawMessage
}

func (taking) Tools() []session.Tool {
	return []session.Tool{{Name: "test.take", Plugin: "test", Spec: &pluginpb.ToolSpec{Name: "take", Doc: "Takes."}}}
}

func (t taking) Call(_ context.Context, _ string, arguments json.RawMessage, _ func(session.CallEvent)) *session.Result {
	t.got <- arguments
	return &session.Result{Text: "taken"}
}

// An HTTP message is in memory once: its arguments are a part of it, and the SDK gets the rest.
func TestLargeArgumentsAreNotCopied(t *testing.T) {
	const size = 8 << 20
	taker := taking{got: make(chan json.RawMessage, 1)}
	send := servedBy(t, taker, HTTPOptions{})
	_, _, sess := send("", hello)
	for name, content := range map[string]string{"plain": strings.Repeat("x", size), "escaped": strings.Repeat(`\"`, size/2)} {
		arguments := `{"content":"` + content + `"}`
		message := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"test_take","arguments":` + arguments + `}}`
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		status, answer, _ := send(sess, message)
		runtime.ReadMemStats(&after)
		if status != http.StatusOK || !strings.Contains(answer, "taken") {
			t.Fatal(status, answer)
		}
		if string(<-taker.got) != arguments {
			t.Errorf("%s: the tool has other arguments", name)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > size*3/2 {
			t.Errorf("%s: %d bytes are allocated for arguments of %d", name, allocated, size)
		}
	}
}

// Most of the allocations are those of a line that grows while it is read.
func TestLargeArgumentsOfStreamAreNotCopied(t *testing.T) {
	const size = 8 << 20
	taker := taking{got: make(chan json.RawMessage, 1)}
	reader, in := io.Pipe()
	out, writer := io.Pipe()
	server := NewServer(taker, "1", "")
	go func() { _ = server.ServeStreams(t.Context(), Streams{Reader: reader, Writer: writer}) }()
	lines := bufio.NewReader(out)
	send := func(message string) string {
		_, _ = io.WriteString(in, message+"\n")
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	send(hello)
	arguments := `{"content":"` + strings.Repeat("x", size) + `"}`
	message := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"test_take","arguments":` + arguments + `}}`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	answer := send(message)
	runtime.ReadMemStats(&after)
	if !strings.Contains(answer, "taken") || string(<-taker.got) != arguments {
		t.Error("the tool has other arguments", answer)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > size*10 {
		t.Errorf("%d bytes are allocated for arguments of %d", allocated, size)
	}
	server.arguments.byKey.Range(func(key, _ any) bool {
		t.Errorf("the arguments of %v are still stored", key)
		return true
	})
	_ = in.Close()
}

// A client can't name another request's arguments.
func TestArgumentKeyOfClientIsIgnored(t *testing.T) {
	t.Parallel()
	got := ""
	h := newTestLimiter(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get(argumentKeyHeader) })
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, Path, strings.NewReader(hello))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(argumentKeyHeader, "key")
	if h.ServeHTTP(httptest.NewRecorder(), r); got != "" {
		t.Errorf("the key is %s", got)
	}
}

func TestStoredArgumentsEndWithRequest(t *testing.T) {
	t.Parallel()
	stored := 0
	h := newTestLimiter(nil)
	count := func() (n int) {
		h.server.arguments.byKey.Range(func(_, _ any) bool { n++; return true })
		return n
	}
	h.stateful = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stored = count() })
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"w","arguments":{"a":"` +
		strings.Repeat("x", smallMessage) + `"}}}`
	if postMessage(h, call); stored != 1 || count() != 0 {
		t.Errorf("%d arguments are stored during the request, %d after it", stored, count())
	}
}
