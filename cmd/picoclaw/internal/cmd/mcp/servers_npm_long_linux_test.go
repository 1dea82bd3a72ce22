//go:build long

package mcp_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest/mcptest"
)

// npmServer is a popular server in the npm registry that needs no account, with one call.
type npmServer struct {
	pkg   string   // with its version and its arguments
	flags []string // of `mcp add`
	tool  string
	args  map[string]any
	want  string // part of the result
	// missing is the reason that the server can't be used here; empty if it works.
	missing string
}

// npmServers returns thirty servers. In arguments, <workspace> is the workspace's path, <url> the address of a web server, and <host> its host and port.
func npmServers() map[string]npmServer {
	const page = "data:text/html,<title>Two</title><p>One</p>"
	return map[string]npmServer{
		"everything": {pkg: "@modelcontextprotocol/server-everything@2026.8.31", tool: "echo", args: map[string]any{"message": "hello"}, want: "hello"},
		"files": {pkg: "@modelcontextprotocol/server-filesystem@2026.8.31 {{workspace}}", tool: "read_text_file",
			args: map[string]any{"path": "<workspace>/poem.txt"}, want: "roses"},
		"memory": {pkg: "@modelcontextprotocol/server-memory@2026.8.31", tool: "create_entities", args: map[string]any{
			"entities": []any{map[string]any{"name": "Ada", "entityType": "person", "observations": []string{"wrote"}}},
		}, want: "Ada"},
		"thinking": {pkg: "@modelcontextprotocol/server-sequential-thinking@2026.8.31", tool: "sequentialthinking", args: map[string]any{
			"thought": "Once", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1,
		}, want: `"thoughtHistoryLength": 1`},
		"playwright": {pkg: "@playwright/mcp@0.0.83", flags: []string{"--browser", "--network", "<host>"}, tool: "browser_navigate",
			args: map[string]any{"url": "<url>/page"}, want: "Two"},
		"devtools": {pkg: "chrome-devtools-mcp@1.11.0 --headless --isolated --chromeArg=--no-sandbox --executablePath /usr/bin/chromium",
			flags: []string{"--browser"}, tool: "new_page", args: map[string]any{"url": page}, want: "data:text/html"},
		"commander": {pkg: "@wonderwhy-er/desktop-commander@0.2.52", tool: "get_config", args: map[string]any{}, want: "blockedCommands"},
		"vault": {pkg: "@bitbonsai/mcpvault@0.16.0 {{workspace}}", tool: "write_note", args: map[string]any{
			"path": "note.md", "content": "# Note",
		}, want: "note.md"},
		"git": {pkg: "@cyanheads/git-mcp-server@2.15.3", flags: []string{"--program", "git"}, tool: "git_status", args: map[string]any{"path": "<workspace>"}, want: "currentBranch"},
		"runner": {pkg: "mcp-server-code-runner@0.1.8", flags: []string{"--program", "sh", "--program", "node"}, tool: "run_code", args: map[string]any{
			"code": "console.log(6 * 7)", "languageId": "javascript",
		}, want: "42"},
		"sqlite": {pkg: "mcp-server-sqlite-npx@0.8.0 {{workspace}}/test.db", tool: "create_table", args: map[string]any{
			"query": "CREATE TABLE poems (title TEXT)",
		}, want: "[]"},
		"excel": {pkg: "@negokaz/excel-mcp-server@0.12.0", tool: "excel_describe_sheets", args: map[string]any{
			"fileAbsolutePath": "<workspace>/table.xlsx",
		}, want: "poems"},
		"mermaid": {pkg: "mcp-mermaid@0.4.1", flags: []string{"--ignore-scripts", "--browser"}, tool: "generate_mermaid_diagram", args: map[string]any{
			"mermaid": "graph TD; A-->B;", "outputType": "mermaid",
		}, want: "A-->B"},
		"hello": {pkg: "mcp-hello-world@1.1.2", tool: "echo", args: map[string]any{"message": "hello"}, want: "hello"},
		"pdf": {pkg: "@sylphx/pdf-reader-mcp@2.4.0", tool: "read_pdf", args: map[string]any{
			"sources": []any{map[string]any{"path": "poem.pdf"}}, "include_full_text": true,
		}, want: "violets"},
		"calculator": {pkg: "@wrtnlabs/calculator-mcp@0.2.1", tool: "add", args: map[string]any{"a": 2, "b": 3}, want: "5"},
		"tasks": {pkg: "@kazuph/mcp-taskmanager@1.1.1", tool: "request_planning", args: map[string]any{
			"originalRequest": "a poem", "tasks": []any{map[string]any{"title": "write it", "description": "in verse"}},
		}, want: "write it"},
		"taskmaster": {pkg: "task-master-ai@0.43.1", tool: "get_tasks", args: map[string]any{"projectRoot": "<workspace>"}, want: "tasks"},
		"starter":    {pkg: "mcp-starter@0.1.0", tool: "hello_tool", args: map[string]any{"name": "Ada"}}, // its result has no content
		"time":       {pkg: "time-mcp@1.0.6", tool: "relative_time", args: map[string]any{"time": "2001-01-01 00:00:00"}, want: "years ago"},
		"eslint":     {pkg: "@eslint/mcp@0.3.13", tool: "lint_files", args: map[string]any{"filePaths": []string{"<workspace>/main.js"}}, want: "no-undef"},
		"mantine": {pkg: "@mantine/mcp-server@9.6.2", flags: []string{"--network", "<host>", "--env", "MANTINE_MCP_DATA_URL=<url>/mantine"}, tool: "list_items",
			args: map[string]any{"limit": 1}, want: "Button"},
		"mastra": {pkg: "@mastra/mcp-docs-server@1.2.27", tool: "get_mastra_help", args: map[string]any{"projectPath": "<workspace>"}, want: "Mastra packages"},
		"n8n":    {pkg: "n8n-mcp@2.87.0", tool: "search_nodes", args: map[string]any{"query": "webhook"}, want: "nodes-base.webhook"},
		"repomix": {pkg: "repomix@1.18.1 --mcp", tool: "pack_codebase", args: map[string]any{
			"directory": "<workspace>",
		}, want: "totalFiles"},
		"txt": {pkg: "@tokenizin/mcp-npx-fetch@1.0.0", flags: []string{"--network", "<host>"}, tool: "fetch_txt", args: map[string]any{"url": "<url>/page"}, want: "One"},
		"fetch": { // it refuses names with private addresses
			pkg: "mcp-fetch-server@1.1.2", flags: []string{"--network", "registry.npmjs.org", "--env", "NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt"},
			tool: "fetch_json", args: map[string]any{"url": "https://registry.npmjs.org/is-odd/3.0.1"}, want: "is-odd",
		},
		"nx":        {pkg: "nx-mcp@0.25.0", missing: "it asks nx.dev"},
		"storybook": {pkg: "@storybook/mcp@10.6.0", missing: "the package has no program"},
		"chakra":    {pkg: "@chakra-ui/react-mcp@2.1.1", missing: "it reads its components from chakra-ui.com when it starts"},
	}
}

// Of thirty servers in the npm registry, each of 27 is added by one command and answers a call in a sandbox.
func TestServersFromNPM(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mantine/index.json" {
			_, _ = fmt.Fprint(w, `[{"kind": "component", "name": "Button", "package": "core", "description": "", "searchText": ""}]`)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, "<title>Two</title><p>One</p>")
	}))
	t.Cleanup(web.Close)
	at, err := url.Parse(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	host := "localhost:" + at.Port()
	missing := 0
	for name, s := range npmServers() {
		if s.missing != "" {
			missing++
			t.Logf("%s: %s", name, s.missing)
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := mcptest.NewHome(t)
			writeNPMWorkspace(h)
			replace := strings.NewReplacer("<workspace>", h.Workspace, "<url>", "http://"+host, "<host>", host)
			var flags []string
			for _, flag := range s.flags {
				flags = append(flags, replace.Replace(flag))
			}
			h.AddServer(name, append(append(flags, "--workspace", "rw", "--", "npx", "-y"), strings.Fields(s.pkg)...)...)
			a := h.CallTool(name+"."+s.tool, replaceStrings(replace, s.args).(map[string]any))
			if !a.OK || !strings.Contains(a.Text+string(a.Structured), s.want) {
				t.Errorf("%s: %.3000s", s.tool, a.FullText())
			}
		})
	}
	if n := len(npmServers()); n != 30 || missing > 3 {
		t.Errorf("%d of %d servers can't be used", missing, n)
	}
}

// replaceStrings replaces texts in all strings of a value.
func replaceStrings(with *strings.Replacer, value any) any {
	switch value := value.(type) {
	case string:
		return with.Replace(value)
	case []string:
		var all []any
		for _, one := range value {
			all = append(all, with.Replace(one))
		}
		return all
	case []any:
		var all []any
		for _, one := range value {
			all = append(all, replaceStrings(with, one))
		}
		return all
	case map[string]any:
		all := map[string]any{}
		for key, one := range value {
			all[key] = replaceStrings(with, one)
		}
		return all
	}
	return value
}

// writeNPMWorkspace writes the files that the calls use.
func writeNPMWorkspace(h mcptest.Home) {
	h.T.Helper()
	for name, text := range map[string]string{
		"poem.txt": "roses are red\n", "main.js": "missing();\n", "package.json": "{\"type\": \"module\"}\n",
		"eslint.config.js": "export default [{rules: {\"no-undef\": \"error\"}}];\n", "poem.pdf": minimalPDF("violets are blue"), "table.xlsx": minimalWorkbook(h.T, "poems"),
	} {
		if err := os.WriteFile(filepath.Join(h.Workspace, name), []byte(text), 0o600); err != nil {
			h.T.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "init", "-q", "-b", "main", h.Workspace).CombinedOutput(); err != nil {
		h.T.Fatalf("%v: %s", err, out)
	}
}

// minimalPDF returns a document with one page and one line of text.
func minimalPDF(line string) string {
	stream := "BT /F1 24 Tf 72 700 Td (" + line + ") Tj ET"
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(stream), stream),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
	}
	text, table := "%PDF-1.4\n", "0000000000 65535 f \n"
	for i, o := range objects {
		table += fmt.Sprintf("%010d 00000 n \n", len(text))
		text += fmt.Sprintf("%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	return text + fmt.Sprintf("xref\n0 %d\n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, table, len(objects)+1, len(text))
}

// minimalWorkbook returns a spreadsheet file with one empty sheet.
func minimalWorkbook(t *testing.T, sheet string) string {
	t.Helper()
	const (
		relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
		packages  = "http://schemas.openxmlformats.org/package/2006"
		sheets    = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
		types     = "application/vnd.openxmlformats-officedocument.spreadsheetml."
	)
	var file bytes.Buffer
	archive := zip.NewWriter(&file)
	for name, text := range map[string]string{
		"[Content_Types].xml": `<Types xmlns="` + packages + `/content-types"><Default Extension="rels" ` +
			`ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="` + types +
			`sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="` + types + `worksheet+xml"/></Types>`,
		"_rels/.rels": `<Relationships xmlns="` + packages + `/relationships"><Relationship Id="r1" Type="` + relations +
			`/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
		"xl/workbook.xml": `<workbook xmlns="` + sheets + `" xmlns:r="` + relations + `"><sheets><sheet name="` + sheet +
			`" sheetId="1" r:id="r1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships xmlns="` + packages + `/relationships"><Relationship Id="r1" Type="` + relations +
			`/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
		"xl/worksheets/sheet1.xml": `<worksheet xmlns="` + sheets + `"><sheetData/></worksheet>`,
	} {
		w, err := archive.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return file.String()
}
