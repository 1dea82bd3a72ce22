package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/picoclaw/picoclaw/host/fleet/subject"
	"github.com/picoclaw/picoclaw/host/session"
)

// A gateway that says what is not true gets nothing by it, and keeps nobody else from being served.
func TestAGatewayThatLies(t *testing.T) {
	address := startNATS(t)
	b := &bench{}
	b.tool(t, "much", func(_ context.Context, text string, events func(session.CallEvent)) *session.Result {
		for range 3 * window {
			events(session.CallEvent{Output: []byte(text)})
		}
		return &session.Result{}
	})
	b.tool(t, "echo", func(_ context.Context, text string, _ func(session.CallEvent)) *session.Result {
		return &session.Result{Text: text, Answered: true}
	})
	b.work(t, joined(t, address, "one"), "one")
	f := joined(t, address, "liar")
	for _, left := range []int64{-1, 1 << 62, -1 << 63, 1<<63 - 1} {
		id := fmt.Sprint("left", left)
		if r, _ := said(t, raw(t, f, request{ID: id, Origin: session.CLI, Tool: "echo", LeftMS: left}, args("a"))); r.Kind != kindAnswer {
			t.Errorf("%d: %+v", left, r)
		}
	}
	for i, r := range []request{
		{Origin: session.Cron}, {Origin: session.Main}, {Origin: "root"}, {ID: "\n"}, {ID: "x", Part: -1, Parts: 1 << 40},
		{ID: "x", Part: 1, Parts: -5}, {ID: "y", Part: 2, Parts: 2}, {ID: "z", Part: 1, Parts: 1<<63 - 1},
	} {
		if r.ID == "" {
			r.ID = fmt.Sprint("lie", i)
		}
		raw(t, f, r, args("a"))
	}
	// Calls of which only the beginning comes, many more than may be coming.
	epoch := epochOf(t, f)
	for i := range 10_000 {
		head, err := encode(request{envelope: sealed(), ID: fmt.Sprint("part", i), Epoch: epoch, Origin: session.CLI,
			Tool: "echo", Part: 1, Parts: 9}, make([]byte, 1<<10))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.conn.PublishRequest(f.to("main", subject.Call), f.from("main")+"liar.x.x-1", head); err != nil {
			t.Fatal(err)
		}
	}
	// Credit for what was never sent.
	stuck := raw(t, f, request{ID: "credit", Origin: session.CLI, Tool: "much", Events: true}, args("a"))
	credit, err := json.Marshal(request{envelope: sealed(), ID: "credit", Epoch: epoch, Seen: 1 << 60})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err := f.conn.PublishRequest(f.to("main", subject.Credit), f.from("main")+"liar.x.x-1",
			append(credit, '\n')); err != nil {
			t.Fatal(err)
		}
	}
	s := caller(t, joined(t, address, "honest"), "main")
	if r := s.Call(t.Context(), "echo", args("hi"), nil); r.Err != nil || r.Text != "hi" {
		t.Errorf("%+v %v", r, r.Err)
	}
	for range window {
		if r, _ := said(t, stuck); r.Kind != kindEvent {
			t.Errorf("%+v", r)
		}
	}
	if n, _, err := stuck.Pending(); err != nil || n > 0 {
		t.Errorf("%d more were sent to a reader that has read none, %v", n, err)
	}
}

func epochOf(t *testing.T, f *Fleet) uint64 {
	t.Helper()
	p, err := f.where(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	return p.epoch
}

// Who has a worker's key may say anything of its tools. A list that no host gives is refused: whoever shows it to
// clients does not look for what is missing.
func TestAWorkerThatLiesAboutItsTools(t *testing.T) {
	address := startNATS(t)
	f := joined(t, address, "liar")
	if _, err := f.placement.Put(t.Context(), "main", []byte(`{"v":1,"worker":"liar","instance":"x"}`)); err != nil {
		t.Fatal(err)
	}
	tools := ""
	_, err := f.conn.Subscribe(f.to("main", subject.Tools), func(m *nats.Msg) {
		r, _, _ := decode[request](m.Data)
		_ = m.Respond(fmt.Appendf(nil, `{"v":1,"kind":"tools","id":%q}`+"\n"+`{"tools":[%s]}`, r.ID, tools))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.conn.Flush(); err != nil {
		t.Fatal(err)
	}
	c, err := NewClient(joined(t, address, "gateway"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	tool := func(name, plugin, spec, input string) string {
		return fmt.Sprintf(`{"Name":%q,"Plugin":%q,"Spec":{"name":%q,"doc":"Reads.","input":%s}}`, name, plugin, spec, input)
	}
	const object = `{"type":"object"}`
	var many []string
	for i := range 257 {
		many = append(many, tool(fmt.Sprint("t", i), "p", fmt.Sprint("t", i), object))
	}
	for of, lie := range map[string]string{
		"no spec":               `{"Name":"read_file"}`,
		"a spec that is null":   `{"Name":"read_file","Plugin":"p","Spec":null}`,
		"no schema":             `{"Name":"read","Plugin":"p","Spec":{"name":"read","doc":"Reads."}}`,
		"a schema that is null": tool("read", "p", "read", "null"),
		"a schema of a list":    tool("read", "p", "read", "[]"),
		"a schema of a word":    tool("read", "p", "read", "true"),
		"no doc":                `{"Name":"read","Plugin":"p","Spec":{"name":"read","input":{}}}`,
		"no name":               tool("", "p", "", object),
		"a name that is long":   tool(strings.Repeat("r", 65), "p", strings.Repeat("r", 65), object),
		"a name with a break":   tool("re\nad", "p", "re\nad", object),
		"another name":          tool("exec", "p", "read", object),
		"another's name":        tool("shell.exec", "p", "exec", object),
		"a plugin that is none": tool("read", "../p", "read", object),
		"one tool twice":        tool("read", "p", "read", object) + "," + tool("p.read", "p", "read", object),
		"one name twice":        tool("read", "p", "read", object) + "," + tool("read", "q", "read", object),
		"too many":              strings.Join(many, ","),
	} {
		tools = lie
		if _, err := c.Session(t.Context(), "main", session.CLI); err == nil ||
			!strings.Contains(err.Error(), "none that a host gives") {
			t.Errorf("%s: %v", of, err)
		}
	}
	tools = strings.Join([]string{tool("read", "p", "read", object), tool("p.exec", "p", "exec", object),
		tool("q.exec", "q", "exec", "{}")}, ",")
	if s, err := c.Session(t.Context(), "main", session.CLI); err != nil || len(s.Tools()) != 3 {
		t.Errorf("what a host gives: %v", err)
	}
}
