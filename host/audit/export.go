package audit

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
)

// Exporter writes audit entries in another program's format.
type Exporter interface {
	Write(Record) error
	Close() error // writes buffered output
}

// exporters are the constructors of exporters by format.
var exporters = map[string]func(out io.Writer, version string) Exporter{
	"jsonl": func(out io.Writer, _ string) Exporter { return lineExporter{out, Record.encodeJSON} },
	"csv":   func(out io.Writer, _ string) Exporter { return &csvExporter{out: csv.NewWriter(out)} },
	"ocsf": func(out io.Writer, version string) Exporter {
		return lineExporter{out, func(r Record) ([]byte, error) { return formatOCSF(r, version) }}
	},
	"cef": func(out io.Writer, version string) Exporter {
		return lineExporter{out, func(r Record) ([]byte, error) { return formatCEF(r, version), nil }}
	},
}

// ExportFormats returns the names of all export formats.
func ExportFormats() []string { return slices.Sorted(maps.Keys(exporters)) }

// NewExporter returns an exporter for a format. version is the version of picoclaw, which some formats contain.
func NewExporter(format string, out io.Writer, version string) (Exporter, error) {
	make, ok := exporters[format]
	if !ok {
		return nil, fmt.Errorf("format %q: want one of %s", format, strings.Join(ExportFormats(), ", "))
	}
	return make(out, version), nil
}

// lineExporter writes one line per entry.
type lineExporter struct {
	out    io.Writer
	format func(Record) ([]byte, error)
}

func (e lineExporter) Write(r Record) error {
	line, err := e.format(r)
	if err == nil {
		_, err = e.out.Write(append(line, '\n'))
	}
	return err
}

func (lineExporter) Close() error { return nil }

// csvExporter writes a table with a header row.
type csvExporter struct {
	out       *csv.Writer
	hasHeader bool
}

func (e *csvExporter) writeHeader() error {
	if e.hasHeader {
		return nil
	}
	e.hasHeader = true
	return e.out.Write([]string{"time", "agent", "session", "parent", "origin", "tool", "args", "decision", "answer",
		"rule", "ms", "result_bytes", "error", "state"})
}

func (e *csvExporter) Write(r Record) error {
	args, err := encodeArgs(r)
	if err != nil {
		return err
	}
	row := []string{r.Time.Format(time.RFC3339Nano), r.Agent, r.Session, r.Parent, r.Origin, r.Tool, args, r.Decision,
		r.Answer, r.Rule, strconv.FormatFloat(r.Millis, 'f', -1, 64), strconv.Itoa(r.Bytes), r.Error, r.State}
	for i, cell := range row {
		row[i] = escapeFormula(cell)
	}
	return errors.Join(e.writeHeader(), e.out.Write(row))
}

func (e *csvExporter) Close() error {
	err := e.writeHeader()
	e.out.Flush()
	return errors.Join(err, e.out.Error())
}

// escapeFormula changes a cell that a spreadsheet would evaluate as a formula.
func escapeFormula(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}

func encodeArgs(r Record) (string, error) {
	if len(r.Args) == 0 {
		return "", nil
	}
	text, err := jsonv2.Marshal(r.Args, jsonv2.Deterministic(true))
	return string(text), err
}

// formatOCSF returns an entry as an event of the Open Cybersecurity Schema Framework 1.3: API Activity with activity
// 99, other.
func formatOCSF(r Record, version string) ([]byte, error) {
	const class, activity = 6003, 99
	severity, status, action := 1, 1, 1 // informational, success, allowed
	statusText, actionText := "Success", "Allowed"
	switch {
	case r.Error != "" || r.WasDenied():
		status, statusText = 2, "Failure"
	case r.IsOpen():
		status, statusText = 0, "Unknown"
	}
	if r.WasDenied() {
		severity, action, actionText = 3, 2, "Denied"
	}
	args, err := encodeArgs(r)
	if err != nil {
		return nil, err
	}
	type object = map[string]any
	event := object{
		"class_uid": class, "class_name": "API Activity", "category_uid": 6, "category_name": "Application Activity",
		"activity_id": activity, "activity_name": "Call",
		"type_uid": class*100 + activity, "type_name": "API Activity: Other",
		"time": r.Time.UnixMilli(), "duration": int64(r.Millis), "severity_id": severity,
		"severity":  map[int]string{1: "Informational", 3: "Medium"}[severity],
		"status_id": status, "status": statusText, "action_id": action, "action": actionText,
		"metadata": object{"version": "1.3.0", "profiles": []string{"security_control"},
			"product": object{"name": "picoclaw", "vendor_name": "picoclaw", "version": version}},
		"actor": object{"user": object{"name": r.Agent, "type_id": 99, "type": "Agent"},
			"session": object{"uid": r.Session}, "app_name": r.Origin},
		"api": object{"operation": r.Tool,
			"request": object{"uid": r.Session, "data": object{"arguments": args}}},
		"src_endpoint": object{"name": "localhost"},
		"unmapped":     object{"decision": r.Decision, "answer": r.Answer, "parent": r.Parent, "result_bytes": r.Bytes},
	}
	if r.Error != "" {
		event["status_detail"] = r.Error
	}
	if r.Rule != "" {
		event["firewall_rule"] = object{"name": r.Rule}
	}
	return json.Marshal(event)
}

func formatCEF(r Record, version string) []byte {
	severity, outcome, name := "1", "success", "Tool call"
	switch {
	case r.WasDenied():
		severity, outcome, name = "6", "failure", "Tool call refused"
	case r.Error != "":
		severity, outcome = "3", "failure"
	case r.IsOpen():
		severity, outcome, name = "3", "unknown", "Tool call without an end"
	}
	args, _ := encodeArgs(r) // entries that were parsed can be encoded
	header := strings.NewReplacer(`\`, `\\`, `|`, `\|`, "\n", " ", "\r", " ")
	value := strings.NewReplacer(`\`, `\\`, `=`, `\=`, "\n", `\n`, "\r", `\r`)
	line := fmt.Sprintf("CEF:0|picoclaw|picoclaw|%s|%s|%s|%s|", header.Replace(version), header.Replace(r.Tool), name,
		severity)
	for _, field := range [][2]string{
		{"rt", strconv.FormatInt(r.Time.UnixMilli(), 10)}, {"suser", r.Agent}, {"act", r.Decision}, {"outcome", outcome},
		{"reason", r.Error}, {"cs1Label", "rule"}, {"cs1", r.Rule}, {"cs2Label", "session"}, {"cs2", r.Session},
		{"cs3Label", "arguments"}, {"cs3", args}, {"cs4Label", "answer"}, {"cs4", r.Answer}, {"cs5Label", "origin"},
		{"cs5", r.Origin}, {"cn1Label", "milliseconds"}, {"cn1", strconv.FormatInt(int64(r.Millis), 10)},
		{"out", strconv.Itoa(r.Bytes)},
	} {
		if field[1] != "" {
			line += field[0] + "=" + value.Replace(field[1]) + " "
		}
	}
	return []byte(strings.TrimSuffix(line, " "))
}
