package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// searchName is the name of the search tool, which finds deferred tools.
const searchName = "tools_search"

const (
	defaultSearchLimit = 5 // results of a search without a limit
	maxSearchLimit     = 20
)

func newSearchTool() *mcp.Tool {
	no, low, high := false, 1.0, float64(maxSearchLimit)
	return &mcp.Tool{
		Name: searchName,
		Description: "Finds tools that are not listed. Some tools of this server are not listed, to keep the list short. " +
			"Search with a few words about your task. The result describes the tools found. They are listed from then " +
			"on and can be called.",
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

// toolSearchResult is a tool in a search result.
type toolSearchResult struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// searchTools handles a client's search for deferred tools, and adds the results to the client's tool list. Like
// tools/list it calls no plugin, so it has no audit entry.
//
// The result contains the schemas, and deferred tools can always be called. So a client needs no session, and need not
// reload the tool list.
//
// The SDK notifies all clients of a changed list, so other clients reload an unchanged list.
func (ts *toolset) searchTools(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	query, limit, err := parseSearchArguments(req.Params.Arguments)
	if err != nil {
		return toToolResult(&session.Result{Err: &session.Error{Code: pluginpb.CodeInvalidArgument, Message: err.Error(),
			Hint: fmt.Sprintf("give query, a text, and if you like limit, a whole number from 1 to %d", maxSearchLimit)},
		}, false), nil
	}
	found := []toolSearchResult{}
	var names []string
	for _, t := range ts.rankDeferredTools(narrowedPolicy(ctx), query, limit) {
		p, schemaErr := t.schemas()
		if schemaErr != nil {
			continue // tools without a valid schema are not listed either
		}
		name := clientToolName(t.tool)
		found = append(found, toolSearchResult{name, t.tool.Spec.Doc, p.input})
		names = append(names, name)
	}
	if len(found) == 0 {
		return toToolResult(&session.Result{Text: "No unlisted tool matches. Try other words."}, false), nil
	}
	if !hasSingleCallSession(req) && ts.clients.getOrCreateClientState(req.Session).addListedTools(names) {
		ts.notifyListChanged()
	}
	text, err := json.Marshal(map[string]any{"tools": found})
	if err != nil {
		return nil, err
	}
	return toToolResult(&session.Result{Text: string(text)}, false), nil
}

func parseSearchArguments(text json.RawMessage) (query string, limit int, err error) {
	args := struct {
		Query *string `json:"query"`
		Limit int     `json:"limit"`
	}{Limit: defaultSearchLimit}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var kind *json.UnmarshalTypeError
	switch err := decoder.Decode(&args); {
	case errors.Is(err, io.EOF): // without arguments
	case errors.As(err, &kind) && kind.Field != "":
		return "", 0, fmt.Errorf("%s is a %s", kind.Field, kind.Value)
	case err != nil:
		return "", 0, fmt.Errorf("invalid arguments: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	switch {
	case args.Query == nil:
		return "", 0, errors.New("query is missing")
	case strings.TrimSpace(*args.Query) == "":
		return "", 0, errors.New("query is empty")
	case args.Limit < 1 || args.Limit > maxSearchLimit:
		return "", 0, fmt.Errorf("limit is %d", args.Limit)
	}
	return *args.Query, args.Limit, nil
}

// notifyListChanged notifies clients of a changed tool list. The SDK notifies only when a tool is added, so it adds the
// search tool again. It does nothing if a plugin has a tool with that name.
func (ts *toolset) notifyListChanged() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.searchable {
		ts.server.AddTool(newSearchTool(), ts.searchTools)
	}
}

// updateSearchTool offers the search tool while tools are deferred. If a plugin has a tool with the same name, it
// offers that tool, and lists all deferred tools. The caller holds ts.mu and has removed missing tools.
func (ts *toolset) updateSearchTool() {
	needed := false
	for _, t := range ts.listed {
		needed = needed || t.tool.Deferred
	}
	taken := ts.listed[searchName] != nil
	needed = needed && !taken
	switch {
	case needed && !ts.searchable:
		ts.server.AddTool(newSearchTool(), ts.searchTools)
	case !needed && ts.searchable && !taken:
		ts.server.RemoveTools(searchName)
	}
	ts.searchable = needed
}

// hideUnlistedTools removes deferred tools that the client has not found by a search from a page of its tool list. The
// page may become empty; clients still ask for the next page.
func (ts *toolset) hideUnlistedTools(req mcp.Request, tools []*mcp.Tool) []*mcp.Tool {
	sess, ok := req.GetSession().(*mcp.ServerSession)
	if !ok {
		return tools
	}
	client := ts.clients.getOrCreateClientState(sess)
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if !ts.searchable {
		return tools
	}
	shown := []*mcp.Tool{}
	for _, tool := range tools {
		known := ts.listed[tool.Name]
		_, found := client.listed.Load(tool.Name)
		if known == nil || !known.tool.Deferred || found {
			shown = append(shown, tool)
		}
	}
	return shown
}

// rankDeferredTools returns the deferred tools that a policy allows and that have words in common with a query, the best
// match first.
func (ts *toolset) rankDeferredTools(p *policy.Policy, query string, limit int) []*offeredTool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	points := map[*offeredTool]int{}
	var all []*offeredTool
	for name, t := range ts.listed {
		if !t.tool.Deferred || !allowsTool(p, t.tool) {
			continue
		}
		if points[t] = scoreTool(t, name, query); points[t] > 0 {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b *offeredTool) int {
		return cmp.Or(points[b]-points[a], strings.Compare(a.tool.Name, b.tool.Name))
	})
	return all[:min(limit, len(all))]
}

// scoreTool scores a tool by the words of a query that occur in its name, in the first paragraph of its description,
// and in the names of its arguments.
func scoreTool(t *offeredTool, name, query string) int {
	query = strings.TrimSpace(query)
	full := t.tool.Plugin + "." + t.tool.Spec.Name
	for _, exact := range []string{name, t.tool.Name, full} {
		if strings.EqualFold(query, exact) {
			return 1 << 20
		}
	}
	doc, _, _ := strings.Cut(t.tool.Spec.Doc, "\n\n")
	names, docs, fields := splitWords(name+" "+full), splitWords(doc), []string(nil)
	if t.tool.Spec.Input != nil {
		var input struct{ Properties map[string]json.RawMessage }
		if text, err := json.Marshal(t.tool.Spec.Input); err == nil {
			_ = json.Unmarshal(text, &input) // without properties there are no names to search
		}
		for field := range input.Properties {
			fields = append(fields, splitWords(field)...)
		}
	}
	points := 0
	for _, word := range splitWords(query) {
		if containsMatchingWord(names, word) {
			points += 4
		}
		if containsMatchingWord(docs, word) {
			points += 2
		}
		if containsMatchingWord(fields, word) {
			points++
		}
	}
	return points
}

// minStem is the minimum length of a word that matches as a part of another word.
const minStem = 3

// containsMatchingWord reports whether a word matches a word of a text: one of them equals, contains or begins the other. So
// "file" matches "files" and "filesystem", and "files" matches "file".
func containsMatchingWord(text []string, word string) bool {
	return slices.ContainsFunc(text, func(w string) bool {
		return w == word || len(word) >= minStem && strings.Contains(w, word) ||
			len(w) > minStem && strings.HasPrefix(word, w)
	})
}

func splitWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}
