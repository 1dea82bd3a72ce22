package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stableVersion is the version of the protocol that servers are asked for: a newer one begins with a request that older
// servers do not answer.
const stableVersion = "2025-11-25"

// open begins a session. The server is told of the workspace if it is to be, and of nothing else: a model to sample is
// not offered.
func (s *server) open(ctx context.Context, t mcp.Transport, workspace string) (*mcp.ClientSession, error) {
	capabilities := &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}}
	if s.definition.Roots {
		capabilities.RootsV2 = &mcp.RootCapabilities{}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "picoclaw", Version: "1"}, &mcp.ClientOptions{
		Capabilities:       capabilities,
		ElicitationHandler: s.elicit,
		LoggingMessageHandler: func(_ context.Context, req *mcp.LoggingMessageRequest) {
			s.calls.log(req.Params)
		},
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			s.calls.progress(req.Params)
		},
		ToolListChangedHandler: func(ctx context.Context, req *mcp.ToolListChangedRequest) {
			// What can't be compared is not what was accepted.
			if err := s.check(ctx, req.Session); err != nil {
				s.withdrawAll(err)
			}
		},
	})
	if s.definition.Roots && workspace != "" {
		client.AddRoots(&mcp.Root{Name: "workspace", URI: (&url.URL{Scheme: "file", Path: workspace}).String()})
	}
	session, err := client.Connect(ctx, t, &mcp.ClientSessionOptions{ProtocolVersion: stableVersion})
	if err != nil {
		return nil, err
	}
	if said := session.InitializeResult(); said != nil && said.Capabilities != nil && said.Capabilities.Logging != nil {
		_ = session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "info"}) // whoever has no logs sends none
	}
	return session, nil
}

// elicit has the person behind a call fill in a form. The protocol does not say which call asks.
func (s *server) elicit(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	call := s.calls.asking()
	if call == nil {
		return &mcp.ElicitResult{Action: "cancel"}, nil
	}
	text, err := json.Marshal(req.Params.RequestedSchema)
	if err != nil {
		return nil, err
	}
	var form jsonschema.Schema
	if err := json.Unmarshal(text, &form); err != nil {
		return nil, fmt.Errorf("the form can't be read: %w", err)
	}
	answer, err := call.Ask(ctx, req.Params.Message, &form)
	if err != nil {
		return &mcp.ElicitResult{Action: "cancel"}, nil //nolint:nilerr // nobody is there: the server is told so
	}
	out := &mcp.ElicitResult{Action: answer.Action}
	if answer.Action == "accept" {
		err = json.Unmarshal(answer.Values, &out.Content)
	}
	return out, err
}

// withdrawAll takes all tools back.
func (s *server) withdrawAll(err error) {
	s.checking.Lock()
	defer s.checking.Unlock()
	s.changed = map[string]string{}
	for name := range s.definition.Tools {
		s.changed[name] = fmt.Sprintf("what the server has now can't be looked at: %v", err)
	}
}

// found is a tool of a server, as it describes it.
type found struct {
	Tool json.RawMessage `json:"tool"`
	Hash string          `json:"hash"`
}

// mostTools is how many tools of a server are looked at.
const mostTools = 1024

// list asks a server for its tools.
func list(ctx context.Context, session *mcp.ClientSession, where places) (map[string]found, error) {
	all := map[string]found{}
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("list its tools: %w", err)
		}
		if len(all) == mostTools {
			return nil, fmt.Errorf("it has more than %d tools", mostTools)
		}
		if _, twice := all[tool.Name]; twice {
			return nil, fmt.Errorf("it has the tool %q twice", tool.Name)
		}
		hash, err := where.hashOf(tool)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(tool)
		if err != nil {
			return nil, err
		}
		all[tool.Name] = found{where.named(text), hash}
	}
	return all, nil
}

// remote is the way to a server that is reached over HTTP. Variables in its headers are placeholders of secrets: the
// value is put in outside of the sandbox.
func remote(d *definition, where places) mcp.Transport {
	headers := http.Header{}
	for name, value := range d.Headers {
		headers.Set(name, where.fill(value, os.Getenv))
	}
	way := http.DefaultTransport.(*http.Transport).Clone()
	if proxy, err := url.Parse(os.Getenv("HTTPS_PROXY")); err == nil && proxy.Host != "" {
		way.Proxy = http.ProxyURL(proxy) // also for names of this machine, which are the sandbox itself without it
	}
	return &mcp.StreamableClientTransport{
		Endpoint: d.URL, HTTPClient: &http.Client{Transport: &withHeaders{headers, way}},
	}
}

// withHeaders adds headers to requests.
type withHeaders struct {
	headers http.Header
	next    http.RoundTripper
}

func (w *withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	maps.Copy(r.Header, w.headers)
	return w.next.RoundTrip(r)
}

// levels are the protocol's levels of logs.
var levels = map[mcp.LoggingLevel]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "notice": slog.LevelInfo, "warning": slog.LevelWarn,
	"error": slog.LevelError, "critical": slog.LevelError, "alert": slog.LevelError, "emergency": slog.LevelError,
}
