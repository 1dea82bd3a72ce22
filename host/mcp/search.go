package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
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
// The SDK tells all clients of a changed list or none: others are told too, and find their own list as it was.
func (ts *toolset) search(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	args := struct {
		Query string `json:"query"`
		Limit int    `json:"limit"`
	}{Limit: searchLimit}
	if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
		return failed("the arguments can't be read: " + err.Error()), nil
	}
	if strings.TrimSpace(args.Query) == "" || args.Limit < 1 || args.Limit > searchLimitMax {
		return failed("query must say what you want to do, and limit must be from 1 to 20"), nil
	}
	found := []foundTool{}
	var names []string
	for _, t := range ts.ranked(args.Query, args.Limit) {
		p, err := t.schemas()
		if err != nil {
			continue // it can't be listed either
		}
		found = append(found, foundTool{clientName(t.tool), t.tool.Spec.Doc, p.input})
		names = append(names, clientName(t.tool))
	}
	if ts.clients.of(req.Session).show(names) {
		ts.server.AddTool(searchTool(), ts.search) // the SDK's one way to say that the list has changed
	}
	text, err := json.Marshal(map[string]any{"tools": found})
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, nil
}

func failed(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// ranked returns the deferred tools that share words with the query, the best first.
func (ts *toolset) ranked(query string, limit int) []*listedTool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	points := map[*listedTool]int{}
	var all []*listedTool
	for name, t := range ts.listed {
		if !t.tool.Deferred {
			continue
		}
		if points[t] = score(t, name, query); points[t] > 0 {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b *listedTool) int {
		return cmp.Or(points[b]-points[a], strings.Compare(a.tool.Name, b.tool.Name))
	})
	return all[:min(limit, len(all))]
}

// score counts the query's words in a tool's name, the first paragraph of its doc, and its arguments' names.
func score(t *listedTool, name, query string) int {
	query = strings.TrimSpace(query)
	full := t.tool.Plugin + "." + t.tool.Spec.Name
	for _, is := range []string{name, t.tool.Name, full} {
		if strings.EqualFold(query, is) {
			return 1 << 20
		}
	}
	doc, _, _ := strings.Cut(t.tool.Spec.Doc, "\n\n")
	names, docs, fields := words(name+" "+full), words(doc), []string(nil)
	if t.tool.Spec.Input != nil {
		var input struct{ Properties map[string]json.RawMessage }
		if text, err := json.Marshal(t.tool.Spec.Input); err == nil {
			_ = json.Unmarshal(text, &input) // without properties there are no names to search
		}
		for field := range input.Properties {
			fields = append(fields, words(field)...)
		}
	}
	points := 0
	for _, word := range words(query) {
		if slices.Contains(names, word) {
			points += 4
		}
		if slices.Contains(docs, word) {
			points += 2
		}
		if slices.Contains(fields, word) {
			points++
		}
	}
	return points
}

// words are the words of a text, in lower case.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// offerSearch offers the search while there is a deferred tool. ts.mu is held.
func (ts *toolset) offerSearch() {
	wanted := ts.listed[searchName] == nil // a plugin's own tool of that name stays
	if wanted {
		wanted = false
		for _, t := range ts.listed {
			wanted = wanted || t.tool.Deferred
		}
	}
	switch {
	case wanted && !ts.searchable:
		ts.server.AddTool(searchTool(), ts.search)
	case !wanted && ts.searchable && ts.listed[searchName] == nil:
		ts.server.RemoveTools(searchName)
	}
	ts.searchable = wanted
}

// shownTo leaves out the deferred tools that the client has not searched for. A page of the list may become empty;
// the next one is asked for all the same.
func (ts *toolset) shownTo(req mcp.Request, tools []*mcp.Tool) []*mcp.Tool {
	ts.mu.Lock()
	searchable := ts.searchable
	ts.mu.Unlock()
	session, ok := req.GetSession().(*mcp.ServerSession)
	if !searchable || !ok {
		return tools
	}
	client := ts.clients.of(session)
	shown := []*mcp.Tool{}
	for _, tool := range tools {
		known := ts.find(tool.Name)
		if _, found := client.shown.Load(tool.Name); found || known == nil || !known.tool.Deferred {
			shown = append(shown, tool)
		}
	}
	return shown
}
