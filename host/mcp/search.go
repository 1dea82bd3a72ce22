package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// searchName is what clients call the search for deferred tools.
const searchName = "tools_search"

const (
	searchLimit    = 5  // how many tools a search finds that doesn't say
	searchLimitMax = 20 // and at most
)

// searchTool is what clients are told of the search.
func searchTool() *mcp.Tool {
	no, low, high := false, 1.0, float64(searchLimitMax)
	return &mcp.Tool{
		Name: searchName,
		Description: "Finds tools that are not listed. Some tools of this server are left out of its list to keep that " +
			"short. Search by what you want to do, in a few words. The tools found are described in the result, are " +
			"listed from then on, and can be called.",
		InputSchema: &jsonschema.Schema{
			Type: "object",
			Properties: map[string]*jsonschema.Schema{
				"query": {Type: "string", Description: "What you want to do, or a tool's name."},
				"limit": {Type: "integer", Description: "How many tools to find at most.", Minimum: &low, Maximum: &high,
					Default: json.RawMessage("5")},
			},
			Required:             []string{"query"},
			AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		},
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no,
			OpenWorldHint: &no},
	}
}

// foundTool is a tool as a search describes it.
type foundTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// search answers a client that searches for deferred tools, and lists to it what it found from then on. It calls no
// plugin and decides nothing, so it is no call and leaves no audit record, as tools/list leaves none.
//
// What is listed is kept for a session. So the answer has all that a call needs, and a deferred tool can be called
// whether it was found or not: a client that does not read the list again, or has another session for each request,
// needs the answer alone.
//
// The SDK tells all clients of a changed list or none: others are told too, and find their own list as it was.
func (ts *toolset) search(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	query, limit, err := searchArguments(req.Params.Arguments)
	if err != nil {
		return answer(&session.Result{Err: &session.Error{Code: pluginpb.CodeInvalidArgument, Message: err.Error(),
			Hint: fmt.Sprintf("give query, a text, and if you like limit, a whole number from 1 to %d", searchLimitMax)},
		}, false), nil
	}
	found := []foundTool{}
	var names []string
	for _, t := range ts.ranked(query, limit) {
		p, err := t.schemas()
		if err != nil {
			continue // it can't be listed either
		}
		name := clientName(t.tool)
		found = append(found, foundTool{name, t.tool.Spec.Doc, p.input})
		names = append(names, name)
	}
	if len(found) == 0 {
		return answer(&session.Result{Text: "No tool that is left out of the list fits. Try other words."}, false), nil
	}
	if ts.clients.of(req.Session).show(names) {
		ts.tellChanged()
	}
	text, err := json.Marshal(map[string]any{"tools": found})
	if err != nil {
		return nil, err
	}
	return answer(&session.Result{Text: string(text)}, false), nil
}

// searchArguments are what a search is called with.
func searchArguments(text json.RawMessage) (query string, limit int, err error) {
	args := struct {
		Query *string `json:"query"`
		Limit int     `json:"limit"`
	}{Limit: searchLimit}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var kind *json.UnmarshalTypeError
	switch err := decoder.Decode(&args); {
	case errors.Is(err, io.EOF): // no arguments
	case errors.As(err, &kind) && kind.Field != "":
		return "", 0, fmt.Errorf("%s is a %s", kind.Field, kind.Value)
	case err != nil:
		return "", 0, fmt.Errorf("the arguments can't be read: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	switch {
	case args.Query == nil:
		return "", 0, errors.New("query is missing")
	case strings.TrimSpace(*args.Query) == "":
		return "", 0, errors.New("query is empty")
	case args.Limit < 1 || args.Limit > searchLimitMax:
		return "", 0, fmt.Errorf("limit is %d", args.Limit)
	}
	return *args.Query, args.Limit, nil
}

// tellChanged has clients told that the list has changed. The SDK has no other way to say so than to add a tool, and
// does when it is the same. A plugin's own tool of that name, which may have come meanwhile, is left alone.
func (ts *toolset) tellChanged() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.searchable {
		ts.server.AddTool(searchTool(), ts.search)
	}
}

// offerSearch offers the search while there is a deferred tool. A plugin's own tool of that name is offered instead,
// and then no tool is left out of the list. ts.mu is held, and the tools that are gone have been removed.
func (ts *toolset) offerSearch() {
	wanted := false
	for _, t := range ts.listed {
		wanted = wanted || t.tool.Deferred
	}
	taken := ts.listed[searchName] != nil
	wanted = wanted && !taken
	switch {
	case wanted && !ts.searchable:
		ts.server.AddTool(searchTool(), ts.search)
	case !wanted && ts.searchable && !taken:
		ts.server.RemoveTools(searchName)
	}
	ts.searchable = wanted
}

// shownTo leaves out the deferred tools that the client has not searched for. A page of the list may become empty;
// the next one is asked for all the same.
func (ts *toolset) shownTo(req mcp.Request, tools []*mcp.Tool) []*mcp.Tool {
	sess, ok := req.GetSession().(*mcp.ServerSession)
	if !ok {
		return tools
	}
	client := ts.clients.of(sess)
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if !ts.searchable {
		return tools
	}
	shown := []*mcp.Tool{}
	for _, tool := range tools {
		known := ts.listed[tool.Name]
		if known == nil || !known.tool.Deferred || client.shows(tool.Name) {
			shown = append(shown, tool)
		}
	}
	return shown
}
