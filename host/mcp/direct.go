package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/host"
)

// direct makes the calls of tools of a client that has started this process. The library reads parameters three times, starts
// a goroutine for each request and marshals each result three times, which takes longer than a small call itself. What is not
// plainly a call of a tool that is there, in a session that has begun, stays the library's, and so does everything in the
// versions of the protocol in which each request says what others say once.
type direct struct {
	tools   *toolset
	session *mcp.ServerSession
	conn    *lines

	mu      sync.Mutex
	ended   bool
	running map[jsonrpc.ID]context.CancelFunc
	calls   sync.WaitGroup // Add only under mu, while not ended
}

func newDirect(ts *toolset, s *mcp.ServerSession, conn *lines) *direct {
	return &direct{tools: ts, session: s, conn: conn, running: make(map[jsonrpc.ID]context.CancelFunc)}
}

// takes says whether a request is one for direct, and returns the call that is to be made of it, nil if there is nothing more
// to do.
func (d *direct) takes(r *jsonrpc.Request) (call func(), ok bool) {
	switch {
	case r.Method == "tools/call" && r.IsCall():
		params, ok := plainCall(r.Params)
		if !ok || !d.begun() {
			return nil, false
		}
		tool := d.tools.find(params.Name)
		if tool == nil {
			return nil, false // the library says so
		}
		return d.start(r.ID, tool.tool, params)
	case r.Method == "notifications/cancelled" && !r.IsCall():
		return nil, d.cancel(r.Params)
	case r.Method == "notifications/roots/list_changed" && !r.IsCall() && d.begun():
		// The library gets to it later, and a call that comes behind it must not be made in the old roots.
		d.tools.clients.of(d.session).roots.changed()
		return nil, true
	default:
		return nil, false
	}
}

// begun says whether the session has begun, in a version of the protocol that direct knows.
func (d *direct) begun() bool {
	p := d.session.InitializeParams()
	return p != nil && p.ProtocolVersion < inRounds
}

// callParams are the parameters of a plain call.
type callParams struct {
	Meta      map[string]any `json:"_meta"`
	Name      string         `json:"name"`
	Arguments jsontext.Value `json:"arguments"`
}

// metaOfProtocol is how the names begin that the protocol itself puts into metadata.
const metaOfProtocol = "io.modelcontextprotocol/"

// plainCall reads parameters that have nothing but what every version of the protocol knows.
func plainCall(params json.RawMessage) (*callParams, bool) {
	var p callParams
	if err := jsonv2.Unmarshal(params, &p, jsonv2.RejectUnknownMembers(true)); err != nil {
		return nil, false
	}
	for name := range p.Meta {
		if strings.HasPrefix(name, metaOfProtocol) {
			return nil, false
		}
	}
	return &p, true
}

// start returns a call that is to be made and answered, unless the session has ended. From here on it can be cancelled.
func (d *direct) start(id jsonrpc.ID, t host.Tool, params *callParams) (call func(), ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return nil, false
	}
	client := d.tools.clients.of(d.session)
	ctx, cancel := context.WithCancel(client.gone)
	d.running[id] = cancel
	d.calls.Add(1)
	return func() {
		defer d.calls.Done()
		req := &mcp.CallToolRequest{Session: d.session, Params: &mcp.CallToolParamsRaw{
			Meta: params.Meta, Name: params.Name, Arguments: json.RawMessage(params.Arguments),
		}}
		result := d.call(ctx, client, t, req)
		d.mu.Lock()
		delete(d.running, id)
		d.mu.Unlock()
		cancel()
		d.answer(id, result)
	}, true
}

// end returns when the calls have ended that the session's end has cancelled.
func (d *direct) end() {
	d.mu.Lock()
	d.ended = true
	d.mu.Unlock()
	d.calls.Wait()
}

// call makes a call. A person is asked in between, as those versions of the protocol do it.
func (d *direct) call(ctx context.Context, client *client, t host.Tool, req *mcp.CallToolRequest) *mcp.CallToolResult {
	s, err := client.roots.session(ctx, d.session)
	if err != nil {
		return noRoots(err)
	}
	if canAsk(d.session) {
		ctx = host.WithAsker(ctx, func(ctx context.Context, q host.Question) bool {
			said, err := d.session.Elicit(ctx, form(q))
			return err == nil && yes(said)
		})
	}
	return answer(tell(ctx, s, t, req), t.Spec.TextResult)
}

// answer sends a result. Whoever does not read it has gone.
func (d *direct) answer(id jsonrpc.ID, result *mcp.CallToolResult) {
	const around = 512 // what is round a text, and room for what is escaped in it
	size := around
	for _, block := range result.Content {
		if text, ok := block.(*mcp.TextContent); ok {
			size += len(text.Text) + len(text.Text)/16
		}
	}
	form, _ := flatten(result, d.session.InitializeParams().ProtocolVersion) // it has nothing that has no such form
	line := form.appendAnswer(make([]byte, 0, size), id)
	to := d.conn.due.answer(id)
	defer d.conn.due.written(to)
	_ = d.conn.reply(to, id, line)
}

// cancel cancels the call that a notification names, and says whether it is one of direct's.
func (d *direct) cancel(params json.RawMessage) bool {
	var p struct {
		RequestID jsontext.Value `json:"requestId"`
	}
	if err := jsonv2.Unmarshal(params, &p, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return false
	}
	id, err := decodeID(p.RequestID)
	if err != nil {
		return false
	}
	d.mu.Lock()
	cancel := d.running[id]
	d.mu.Unlock()
	if cancel == nil {
		return false
	}
	cancel()
	return true
}
