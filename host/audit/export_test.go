package audit

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func exported(t *testing.T, format string, records ...Record) string {
	t.Helper()
	var out bytes.Buffer
	e, err := NewExporter(format, &out, "1|0")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := e.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestExports(t *testing.T) {
	r := Record{Time: time.UnixMilli(1790000000123).UTC(), Agent: "main", Session: "s1", Origin: "mcp",
		Tool: "a|b.exec",
		Args: map[string]any{"command": "x=1 \\ \n|"}, Decision: "deny", Rule: "exec.rm", Millis: 2.5,
		Error: "=refused\nby|rule"}

	line := exported(t, "cef", r)
	const want = `CEF:0|picoclaw|picoclaw|1\|0|a\|b.exec|Tool call refused|6|rt=1790000000123 suser=main act=deny outcome=failure ` +
		`reason=\=refused\nby|rule cs1Label=rule cs1=exec.rm cs2Label=session cs2=s1 cs3Label=arguments ` +
		`cs3={"command":"x\=1 \\\\ \\n|"} cs4Label=answer cs5Label=origin cs5=mcp cn1Label=milliseconds cn1=2 out=0` + "\n"
	if line != want {
		t.Errorf("CEF is\n%s; want\n%s", line, want)
	}

	rows, err := csv.NewReader(strings.NewReader(exported(t, "csv", r, r))).ReadAll()
	if err != nil || len(rows) != 3 || rows[0][5] != "tool" || rows[1][5] != r.Tool || rows[1][12] != "'"+r.Error {
		t.Errorf("CSV is %q, %v", rows, err)
	}
	if head := exported(t, "csv"); !strings.HasPrefix(head, "time,agent,") {
		t.Errorf("without records, CSV is %q", head)
	}

	var event struct {
		Class    int `json:"class_uid"`
		Type     int `json:"type_uid"`
		Time     int64
		Severity int `json:"severity_id"`
		Action   int `json:"action_id"`
		Actor    struct{ User struct{ Name string } }
		API      struct{ Operation string }
		Metadata struct{ Version string }
	}
	if err := json.Unmarshal([]byte(exported(t, "ocsf", r)), &event); err != nil {
		t.Fatal(err)
	}
	if event.Class != 6003 || event.Type != 600399 || event.Time != 1790000000123 || event.Severity != 3 ||
		event.Action != 2 || event.Actor.User.Name != "main" || event.API.Operation != r.Tool || event.Metadata.Version == "" {
		t.Errorf("OCSF is %+v", event)
	}

	cut := Record{Time: r.Time, Args: map[string]any{"content": strings.Repeat("x", 1000)}}.RedactedAndShortened()
	if line := exported(t, "jsonl", cut); !strings.Contains(line, "… (1000 bytes)") || IsArgumentWhole(cut.Args) || !IsArgumentWhole(r.Args) {
		t.Errorf("what was cut is cut again: %s", line)
	}
	var back Record
	err = json.Unmarshal([]byte(exported(t, "jsonl", r)), &back)
	if err != nil || back.Error != r.Error || !back.Time.Equal(r.Time) {
		t.Errorf("JSON Lines are %+v, %v", back, err)
	}
	if _, err := NewExporter("xml", nil, ""); err == nil || !strings.Contains(err.Error(), "cef, csv, jsonl, ocsf") {
		t.Errorf("an unknown format: %v", err)
	}
}
