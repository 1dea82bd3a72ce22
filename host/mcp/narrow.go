package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// narrowKey is the key in _meta with which a client narrows its session, in initialize, or any single request.
const narrowKey = "io.github.picoclaw/narrow"

// narrowedSession is the key of a narrowed session.
type narrowedSession struct {
	wide      toolProvider
	narrowing string
}

// maxNarrowedSessions limits the narrowed sessions that a server keeps for later requests.
const maxNarrowedSessions = 64

// requestNarrowing returns the JSON text of narrowKey in a request; "" for none.
func requestNarrowing(req mcp.Request) (string, error) {
	p := req.GetParams()
	if p == nil || reflect.ValueOf(p).IsNil() {
		return "", nil
	}
	value, ok := p.GetMeta()[narrowKey]
	if !ok {
		return "", nil
	}
	text, err := json.Marshal(value)
	return string(text), err
}

// narrowSession returns the session narrowed by the client's initialize and by one of its requests.
func (c *clientSet) narrowSession(s toolProvider, client *clientState, req mcp.Request) (toolProvider, error) {
	narrowing, err := requestNarrowing(req)
	if initial := client.narrowing.Load(); err == nil && initial != nil {
		s, err = c.narrowOnce(s, *initial)
	}
	if err == nil {
		s, err = c.narrowOnce(s, narrowing)
	}
	if err != nil {
		return nil, fmt.Errorf(`%s in _meta can't be honoured: %w; want {"directory": DIR, "tools": [NAME or glob, ...]} or a part of it`, narrowKey, err)
	}
	return s, nil
}

// narrowOnce returns the session narrowed by a JSON text of narrowKey; s for "".
func (c *clientSet) narrowOnce(s toolProvider, narrowing string) (toolProvider, error) {
	if narrowing == "" {
		return s, nil
	}
	wide, ok := s.(localSession)
	if !ok {
		return nil, errors.New("the agent runs on another machine")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := narrowedSession{wide, narrowing}
	if known := c.narrowed[key]; known != nil {
		return known, nil
	}
	var n struct {
		Directory *string  `json:"directory"` // absolute, or relative to the server's workspace
		Tools     []string `json:"tools"`
	}
	if err := jsonv2.Unmarshal([]byte(narrowing), &n, jsonv2.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	dir := ""
	switch {
	case n.Directory == nil && n.Tools == nil:
		return nil, errors.New("it narrows nothing")
	case n.Directory != nil && filepath.IsAbs(*n.Directory):
		dir = *n.Directory
	case n.Directory != nil:
		dir = filepath.Join(c.session.(localSession).Policy().WorkspacePath(), *n.Directory)
	}
	narrower, err := wide.SpawnSession(session.MCP, policy.NewRestriction(dir, n.Tools))
	if err != nil {
		return nil, err
	}
	if len(c.narrowed) >= maxNarrowedSessions {
		clear(c.narrowed)
	}
	c.narrowed[key] = narrower
	return narrower, nil
}

// narrowedPolicyKey is the context key of the policy of a narrowed request.
type narrowedPolicyKey struct{}

// narrowedPolicy returns the policy of a narrowed request; nil if the request is not narrowed.
func narrowedPolicy(ctx context.Context) *policy.Policy {
	p, _ := ctx.Value(narrowedPolicyKey{}).(*policy.Policy)
	return p
}

func allowsTool(p *policy.Policy, t session.Tool) bool {
	return p == nil || p.AllowsTool(t.Plugin, t.Spec.Name, t.Spec.Sets)
}

func allowsResourceOrPrompt(p *policy.Policy, f session.ResourceOrPrompt) bool {
	return p == nil || p.DecideResourceOrPrompt(f.Kind, f.Plugin, f.Spec.Name).Verdict == guard.Allow
}

// narrowRequests is middleware that checks the narrowing of each request, and hides tools, resources and prompts that
// are not allowed in a narrowed session. Calls are made in the narrowed session; see callForClient.
func (ts *toolset) narrowRequests(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		client := ts.clients.getOrCreateClientState(req.GetSession().(*mcp.ServerSession))
		s, err := ts.clients.narrowSession(ts.session, client, req)
		if err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
		}
		narrowing, _ := requestNarrowing(req) // narrowSession returns the error
		if narrowing == "" && client.narrowing.Load() == nil {
			return next(ctx, method, req)
		}
		if method == "initialize" {
			client.narrowing.CompareAndSwap(nil, &narrowing) // before the client can send another request
		}
		p := s.(localSession).Policy()
		result, err := next(context.WithValue(ctx, narrowedPolicyKey{}, p), method, req)
		if err == nil {
			ts.hideFromResult(p, result)
		}
		return result, err
	}
}

// hideFromResult removes entries of a list that a policy does not allow, and describes the policy in instructions.
func (ts *toolset) hideFromResult(p *policy.Policy, result mcp.Result) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	hides := func(kind, name string) bool {
		for _, f := range ts.features {
			if f.Kind == kind && (kind == pluginpb.PromptKind && clientPromptName(f) == name || f.Spec.URI == name) {
				return !allowsResourceOrPrompt(p, f)
			}
		}
		return false
	}
	switch r := result.(type) {
	case *mcp.InitializeResult:
		r.Instructions = ModelInstructions(p)
	case *mcp.DiscoverResult:
		r.Instructions = ModelInstructions(p)
	case *mcp.ListToolsResult:
		r.Tools = slices.DeleteFunc(r.Tools, func(t *mcp.Tool) bool {
			known := ts.listed[t.Name]
			return known != nil && !allowsTool(p, known.tool)
		})
	case *mcp.ListPromptsResult:
		r.Prompts = slices.DeleteFunc(r.Prompts, func(x *mcp.Prompt) bool { return hides(pluginpb.PromptKind, x.Name) })
	case *mcp.ListResourcesResult:
		r.Resources = slices.DeleteFunc(r.Resources, func(x *mcp.Resource) bool { return hides(pluginpb.ResourceKind, x.URI) })
	case *mcp.ListResourceTemplatesResult:
		r.ResourceTemplates = slices.DeleteFunc(r.ResourceTemplates, func(x *mcp.ResourceTemplate) bool {
			return hides(pluginpb.ResourceKind, x.URITemplate)
		})
	}
}
