package logs

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host/redact"
)

func say(l hclog.Logger) {
	l = l.Named("tool").With("agent", "main")
	l.Error("Tool execution failed", "tool", "read_file", "error", errors.New("access denied:\npath \x1b[31mis outside"))
	l.Warn("password=hunter2 in a message", "api_key", "hunter2", "url", "https://me:hunter2@x", "env",
		[]string{"TOKEN=hunter2"})
	l.Info("odd", "alone")
	l.Debug("not seen")
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	l := NewLogger(&b, hclog.Info, "text")
	say(l)
	l.Error("plain")
	want := "[ERROR] tool: Tool execution failed {agent=main, tool=read_file, error=access denied: path �[31mis outside}\n" +
		"[WARN] tool: password=" + redact.Mark + " in a message {agent=main, api_key=" + redact.Mark + ", url=https://me:" +
		redact.Mark +
		"@x, env=[TOKEN=" + redact.Mark + "]}\n" +
		"[INFO] tool: odd {agent=main, alone}\n" +
		"[ERROR] picoclaw: plain\n"
	if b.String() != want {
		t.Errorf("the log is\n%s\nwant\n%s", b.String(), want)
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	say(NewLogger(&b, hclog.Warn, "json"))
	if bytes.Contains(b.Bytes(), []byte("hunter2")) {
		t.Errorf("a secret is in %s", b.String())
	}
	for line := range bytes.Lines(b.Bytes()) {
		var entry map[string]any
		if err := json.Unmarshal(line, &entry); err != nil || entry["@module"] != "picoclaw.tool" ||
			entry["agent"] != "main" {
			t.Errorf("%v: %s", err, line)
		}
	}
	if n := bytes.Count(b.Bytes(), []byte("\n")); n != 2 {
		t.Errorf("%d lines", n)
	}
}

func TestLogLevelOff(t *testing.T) {
	var b bytes.Buffer
	say(NewLogger(&b, hclog.Off, "text"))
	if b.Len() > 0 {
		t.Errorf("the log is %s", b.String())
	}
}
