package clitest

import (
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// HTTPGet returns the status and the body of a response.
func HTTPGet(t *testing.T, url string) (int, string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// CallToolHTTP calls a tool in an MCP session over HTTP.
func CallToolHTTP(t *testing.T, url, token, tool, arguments string, session map[string]string) string {
	t.Helper()
	_, answer, _ := PostMCP(t, url, token, fmt.Sprintf(
		`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, rand.Text(), tool, arguments),
		session)
	return answer
}

// PostMCP sends an MCP message with the headers that the transport requires; header overrides or adds some.
func PostMCP(t *testing.T, url, token, message string, header map[string]string) (status int, answer string,
	got http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range header {
		if name == "Host" {
			r.Host = value
		} else {
			r.Header.Set(name, value)
		}
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text), response.Header
}

// InitializeMessage is the first message of an MCP session.
const InitializeMessage = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
	`"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

// OpenHTTPSession opens an MCP session and returns the headers for its requests.
func OpenHTTPSession(t *testing.T, url, token string) map[string]string {
	t.Helper()
	status, answer, header := PostMCP(t, url, token, InitializeMessage, nil)
	if status != http.StatusOK || !strings.Contains(answer, "serverInfo") {
		t.Fatalf("%d %s", status, answer)
	}
	session := map[string]string{"Mcp-Session-Id": header.Get("Mcp-Session-Id")}
	if status, answer, _ := PostMCP(t, url, token, `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		session); status != http.StatusAccepted {
		t.Fatalf("%d %s", status, answer)
	}
	return session
}
