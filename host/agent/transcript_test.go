package agent_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/picoclaw/picoclaw/host/agent"
)

func open(t testing.TB, dir, key string) *agent.Transcript {
	t.Helper()
	transcript, err := agent.OpenTranscript(dir, key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = transcript.Close() })
	return transcript
}

// conversation has a call of each kind.
var conversation = []agent.Message{
	{Role: agent.User, Text: "go"},
	{Role: agent.Assistant, Text: "yes <b>", From: "test", Extra: json.RawMessage(`{"x":1}`), Calls: []agent.ToolCall{
		{ID: "1", Tool: "read", Arguments: json.RawMessage(`{}`), Extra: json.RawMessage(`{"y":1}`)},
		{ID: "2", Tool: "read", Arguments: json.RawMessage(`"no object"`)}}},
	{Role: agent.ToolResult, CallID: "1", Text: "data"},
	{Role: agent.ToolResult, CallID: "2", Text: "data", Failed: true},
	{Role: agent.Assistant, Text: "done"},
}

// kept writes a conversation and returns its file.
func kept(t testing.TB, dir string) string {
	t.Helper()
	transcript := open(t, dir, "test")
	for _, m := range conversation {
		if err := transcript.AppendMessage(m, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := transcript.Close(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "test.jsonl")
}

// Wherever a crash cuts the file off, the conversation goes on from what was whole, and the loss is told.
func TestCutTranscriptIsRepaired(t *testing.T) {
	dir := t.TempDir()
	path := kept(t, dir)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for length := len(data); length >= 0; length-- {
		if err := os.WriteFile(path, data[:length], 0o600); err != nil {
			t.Fatal(err)
		}
		transcript := open(t, dir, "test")
		whole(t, transcript.Messages())
		lines := bytes.Count(data[:length], []byte("\n"))
		torn := length > 0 && data[length-1] != '\n'
		missing := lines == 3 || lines == 4 // after the calls, before the last result
		if got := len(transcript.Repairs()) > 0; got != (torn || missing) {
			t.Fatalf("at %d of %d bytes the repairs are %q", length, len(data), transcript.Repairs())
		}
		before := transcript.Messages()
		if err := transcript.AppendMessage(agent.Message{Role: agent.User, Text: "and on"}, nil); err != nil {
			t.Fatal(err)
		}
		if err := transcript.Close(); err != nil {
			t.Fatal(err)
		}
		again := open(t, dir, "test")
		if diff := cmp.Diff(len(before)+1, len(again.Messages())); diff != "" || len(again.Repairs()) > 0 {
			t.Fatalf("at %d bytes it is not whole the second time: %q", length, again.Repairs())
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestInvalidTranscriptIsRefused(t *testing.T) {
	dir := t.TempDir()
	path := kept(t, dir)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(data), "\n")
	for want, text := range map[string]string{
		"line 3":              lines[0] + lines[1] + "garbage\n" + lines[2],
		"the first line":      lines[1] + lines[2],
		"line 2":              lines[0] + lines[0],
		"version 9":           `{"transcript":{"version":9,"key":"test"}}` + "\n",
		`of session "other"`:  `{"transcript":{"version":1,"key":"other"}}` + "\n",
		"it retains 7 of 1":   lines[0] + lines[1] + `{"context":{"kept":7}}` + "\n",
		"it retains -1 of 1":  lines[0] + lines[1] + `{"context":{"kept":-1}}` + "\n",
		"not a regular file;": "",
	} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if text == "" {
			err = os.Mkdir(path, 0o700)
		} else {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, err := agent.OpenTranscript(dir, "test")
		if err == nil || text != "" && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v", text, err)
		}
	}
}

func TestTranscriptIsLocked(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, "cli:default")
	if _, err := agent.OpenTranscript(dir, "cli:default"); err == nil || !strings.Contains(err.Error(), "another process uses it") {
		t.Errorf("the error is %v", err)
	}
	if err := agent.DeleteTranscript(dir, "cli:default"); err == nil || !strings.Contains(err.Error(), "another process uses it") {
		t.Errorf("the error is %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := agent.DeleteTranscript(dir, "cli:default"); err != nil {
		t.Error(err)
	}
	if err := agent.DeleteTranscript(dir, "cli:default"); err == nil || !strings.Contains(err.Error(), "there is no session") {
		t.Errorf("the error is %v", err)
	}
}

func TestTranscriptFileNamesAreUnique(t *testing.T) {
	dir := t.TempDir()
	keys := []string{"", "a", "A", "a:b", "a/b", "a%3ab", "..", "../../etc/passwd", "con", "nul", "com1", "ü", "a b", ".hidden",
		strings.Repeat("long", 100), strings.Repeat("long", 100) + "er", strings.Repeat("ü", 120)}
	for _, key := range keys {
		if err := open(t, dir, key).AppendMessage(agent.Message{Role: agent.User, Text: key}, nil); err != nil {
			t.Fatal(err)
		}
	}
	list, err := agent.ListTranscripts(dir)
	if err != nil || len(list) != len(keys) {
		t.Fatalf("%d of %d are listed, %v", len(list), len(keys), err)
	}
	folded := map[string]bool{}
	for _, one := range list {
		folded[strings.ToLower(filepath.Base(one.Path))] = true
		if filepath.Dir(one.Path) != dir || len(filepath.Base(one.Path)) > 220 {
			t.Errorf("%q is in %s", one.Key, one.Path)
		}
		info, err := os.Stat(one.Path)
		if err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	}
	if len(folded) != len(keys) {
		t.Errorf("only %d of %d files differ where case does not count", len(folded), len(keys))
	}
	if none, err := agent.ListTranscripts(filepath.Join(dir, "missing")); err != nil || none != nil {
		t.Errorf("%v, %v", none, err)
	}
	if _, err := agent.OpenTranscript(dir, "\xff"); err == nil {
		t.Error("a key that is no text is taken")
	}
}
