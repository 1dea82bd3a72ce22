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

// stableVersion is the requested protocol version. Older servers don't answer the first request of newer versions.
const stableVersion = "2025-11-25"

// openSession opens an MCP session. It offers elicitation, and roots if the definition requests them, but no sampling.
func (s *mcpServer) openSession(ctx context.Context, t mcp.Transport, workspace string) (*mcp.ClientSession, error) {
	capabilities := &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}}
	if s.definition.Roots {
		capabilities.RootsV2 = &mcp.RootCapabilities{}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "picoclaw", Version: "1"}, &mcp.ClientOptions{
		Capabilities:       capabilities,
		ElicitationHandler: s.askUser,
		LoggingMessageHandler: func(_ context.Context, req *mcp.LoggingMessageRequest) {
			s.calls.forwardLog(req.Params)
		},
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			s.calls.forwardProgress(req.Params)
		},
		ToolListChangedHandler: func(ctx context.Context, req *mcp.ToolListChangedRequest) {
			s.recheckTools(ctx, req.Session)
		},
		PromptListChangedHandler: func(ctx context.Context, req *mcp.PromptListChangedRequest) {
			s.recheckTools(ctx, req.Session)
		},
		ResourceListChangedHandler: func(ctx context.Context, req *mcp.ResourceListChangedRequest) {
			s.recheckTools(ctx, req.Session)
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
		_ = session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "info"}) // ignore servers without logging
	}
	return session, nil
}

// askUser passes an elicitation to the user of the latest call.
func (s *mcpServer) askUser(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	call := s.calls.latestCall()
	if call == nil {
		return &mcp.ElicitResult{Action: "cancel"}, nil
	}
	text, err := json.Marshal(req.Params.RequestedSchema)
	if err != nil {
		return nil, err
	}
	var schema jsonschema.Schema
	if err = json.Unmarshal(text, &schema); err != nil {
		return nil, fmt.Errorf("invalid form: %w", err)
	}
	answer, err := call.Ask(ctx, req.Params.Message, &schema)
	if err != nil {
		return &mcp.ElicitResult{Action: "cancel"}, nil //nolint:nilerr // nobody can answer: cancel
	}
	out := &mcp.ElicitResult{Action: answer.Action}
	if answer.Action == "accept" {
		err = json.Unmarshal(answer.Values, &out.Content)
	}
	return out, err
}

// recheckTools compares the server's changed tools with the accepted ones. If this fails, all tools are quarantined.
func (s *mcpServer) recheckTools(ctx context.Context, session *mcp.ClientSession) {
	if err := s.quarantineChangedTools(ctx, session); err != nil {
		s.quarantineAll(err)
	}
}

// quarantineAll quarantines all tools, with an error as the reason.
func (s *mcpServer) quarantineAll(err error) {
	s.toolsMu.Lock()
	defer s.toolsMu.Unlock()
	s.quarantined = map[string]string{}
	for name := range s.definition.Tools {
		s.quarantined[name] = fmt.Sprintf("its current tools can't be listed: %v", err)
	}
}

// listedTool is a tool, resource or prompt as the server describes it, with the hash of its definition.
type listedTool struct {
	Tool json.RawMessage `json:"tool"`
	Hash string          `json:"hash"`
	Kind string          `json:"kind,omitempty"` // such as "resource"
}

// maxTools limits the tools of a server.
const maxTools = 1024

// listTools returns the server's tools by name.
func listTools(ctx context.Context, session *mcp.ClientSession, dirs placeholderDirs) (map[string]listedTool, error) {
	all := map[string]listedTool{}
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("list its tools: %w", err)
		}
		if len(all) == maxTools {
			return nil, fmt.Errorf("the server has more than %d tools", maxTools)
		}
		if _, twice := all[tool.Name]; twice {
			return nil, fmt.Errorf("the server lists the tool %q twice", tool.Name)
		}
		hash, err := dirs.hashTool(tool)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(tool)
		if err != nil {
			return nil, err
		}
		all[tool.Name] = listedTool{dirs.insertPlaceholders(text), hash, ""}
	}
	return all, listResourcesAndPrompts(ctx, session, dirs, all)
}

// newHTTPTransport returns the MCP transport to a server over HTTP. Variables in headers are placeholders of secrets,
// which the proxy outside the sandbox replaces.
func newHTTPTransport(d *serverDefinition, dirs placeholderDirs) mcp.Transport {
	headers := http.Header{}
	for name, value := range d.Headers {
		headers.Set(name, dirs.expandPlaceholders(value, os.Getenv))
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if proxy, err := url.Parse(os.Getenv("HTTPS_PROXY")); err == nil && proxy.Host != "" {
		transport.Proxy = http.ProxyURL(proxy) // the proxy also serves local names, which are the sandbox itself otherwise
	}
	return &mcp.StreamableClientTransport{
		Endpoint: d.URL, HTTPClient: &http.Client{Transport: &headerTransport{headers, transport}},
	}
}

// headerTransport adds headers to requests.
type headerTransport struct {
	headers http.Header
	next    http.RoundTripper
}

// RoundTrip sends a request with the headers.
func (w *headerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	maps.Copy(r.Header, w.headers)
	return w.next.RoundTrip(r)
}

// logLevels maps MCP's log levels to those of slog.
var logLevels = map[mcp.LoggingLevel]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "notice": slog.LevelInfo, "warning": slog.LevelWarn,
	"error": slog.LevelError, "critical": slog.LevelError, "alert": slog.LevelError, "emergency": slog.LevelError,
}
