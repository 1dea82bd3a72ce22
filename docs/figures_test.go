package docs_test

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the figures of bench.json into the pages")

// figures are texts of pages in which {KEY} stands for a figure of bench.json, rounded to two digits.
var figures = []struct{ page, text string }{
	{"../README.md", "All layers together cost {call.cost-ms} ms a call"},
	{"../README.md", "reads its first file over MCP {mcp/start.picoclaw_first_read-ms} ms after start"},
	{"isolation.md", "first answer takes {start.isolated-ms} ms with isolation and {start.plain-ms} ms without"},
	{"isolation.md", "takes {sandbox.bubblewrap_cost-ms} ms longer with bubblewrap, and {sandbox.cost-ms} ms longer with"},
	{"isolation.md", "of which Landlock takes {sandbox.landlock_cost-ms} ms"},
	{"isolation.md", "A call takes {call.read-ms} ms with isolation and {call.read_unconfined-ms} ms without"},
	{"shell.md", "`tar x` of 2,000 files takes {undo/tar_2000_files.cost-ms} ms longer, a build of 2,000 files " +
		"{undo/build_2000_files.cost-ms} ms, `npm install` of 10,000 files {undo/npm_install_10000_files.cost-ms} ms, " +
		"`rm -rf` of 20,000 files {undo/rm_20000_files.cost-ms} ms, and any other command {undo/true.cost-ms} ms"},
	{"operators.md", "| endless loops | {fairness/disk.loops_p99_beside_to_alone-ratio} | " +
		"{fairness/tmpfs.loops_p99_beside_to_alone-ratio} |"},
	{"operators.md", "| outputs of 200 MB | {fairness/disk.output_p99_beside_to_alone-ratio} | " +
		"{fairness/tmpfs.output_p99_beside_to_alone-ratio} |"},
	{"operators.md", "| commands that fill their memory | {fairness/disk.memory_p99_beside_to_alone-ratio} | " +
		"{fairness/tmpfs.memory_p99_beside_to_alone-ratio} |"},
	{"operators.md", "| four writes of 16 MB at a time | {fairness/disk.writes_p99_beside_to_alone-ratio} | " +
		"{fairness/tmpfs.writes_p99_beside_to_alone-ratio} |"},
	{"operators.md", "| start of the gateway; its memory | {scale.start-ms} ms; {scale.idle-MiB} MiB |"},
	{"operators.md", "| {scale.calling-MiB} MiB, of which the gateway {scale.calling_gateway_alone-MiB} MiB |"},
	{"operators.md", "at once, median | {scale.first_call-ms} ms |"},
	{"operators.md", "| `read_file` {scale.read_file-ms} ms, `exec` {scale.exec-ms} ms, `grep` {scale.grep-ms} ms |"},
	{"fleet.md", "| reading 1 KB takes longer by | {fleet/nats.read_cost-ms} ms | {fleet/hub.read_cost-ms} ms |"},
	{"fleet.md", "| writing 1 KB takes longer by | {fleet/nats.write_cost-ms} ms | {fleet/hub.write_cost-ms} ms |"},
	{"fleet.md", "| looking up where an agent is | {fleet/nats.lookup-ms} ms | {fleet/hub.lookup-ms} ms |"},
	{"fleet.md", "agents are taken after | {fleetscale/single.taken-s} s |"},
	{"fleet.md", "| memory of the server | {fleetscale/single.server-MiB} MiB, " +
		"{fleetscale/single.server_per_worker-KiB} KiB for a worker with its connection and its 400 subscriptions |"},
	{"fleet.md", "| memory of a worker | {fleetscale/single.worker-MiB} MiB |"},
	{"fleet.md", "| the server at rest, of one processor | {fleetscale/single.server_rest-%} % |"},
	{"fleet.md", "eight at once | p50 {fleetscale/single.lookup-ms} ms, p99 {fleetscale/single.lookup_p99-ms} ms |"},
	{"fleet.md", "all agents once | {fleetscale/single.gateway_after_pass_1-MiB} MiB |"},
	{"fleet.md", "64 at once | {fleetscale/single.calls-/s} a second, p50 {fleetscale/single.call-ms} ms |"},
}

var (
	placeholder = regexp.MustCompile(`\\\{(.+?)\\\}`) // in a quoted text
	number      = `(-?[0-9]{1,3}(?:,[0-9]{3})*(?:\.[0-9]+)?)`
)

// `make bench SAVE=1` saves the figures, and has this test write them into the pages.
func TestPagesQuoteSavedFigures(t *testing.T) {
	data, err := os.ReadFile("bench.json")
	if err != nil {
		t.Fatal(err)
	}
	var saved struct{ Figures map[string]float64 }
	if err := json.Unmarshal(data, &saved); err != nil {
		t.Fatal(err)
	}
	for _, f := range figures {
		page, err := os.ReadFile(f.page)
		if err != nil {
			t.Fatal(err)
		}
		text := regexp.MustCompile(` +`).ReplaceAllString(regexp.QuoteMeta(f.text), `\s+`)
		found := regexp.MustCompile(placeholder.ReplaceAllLiteralString(text, number)).FindAllSubmatchIndex(page, -1)
		if len(found) != 1 {
			t.Errorf("%s has %d times: %s", f.page, len(found), f.text)
			continue
		}
		var changed []byte
		last := 0
		for n, key := range regexp.MustCompile(`\{(.+?)\}`).FindAllStringSubmatch(f.text, -1) {
			value, ok := saved.Figures[key[1]]
			if !ok {
				t.Errorf("%s: bench.json has no %s", f.page, key[1])
			}
			begin, end := found[0][2*n+2], found[0][2*n+3]
			if quoted, want := string(page[begin:end]), round(value); quoted != want && !*update {
				t.Errorf("%s quotes %s as %s, bench.json has %s: go test ./docs -run Figures -update", f.page, key[1], quoted, want)
			}
			changed = append(append(changed, page[last:begin]...), round(value)...)
			last = end
		}
		if *update {
			if err := os.WriteFile(f.page, append(changed, page[last:]...), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// round writes a figure with two digits that count.
func round(value float64) string {
	if value == 0 {
		return "0"
	}
	digits := 1 - int(math.Floor(math.Log10(math.Abs(value))))
	unit := math.Pow(10, float64(digits))
	text := strconv.FormatFloat(math.Round(value*unit)/unit, 'f', max(0, digits), 64)
	whole, fraction, _ := strings.Cut(text, ".")
	for n := len(whole) - 3; n > 0 && whole[n-1] != '-'; n -= 3 {
		whole = whole[:n] + "," + whole[n:]
	}
	if fraction != "" {
		return whole + "." + fraction
	}
	return whole
}

// benchPart is how a page names what measures a figure.
var benchPart = regexp.MustCompile(`ONLY=([a-z]+)`)

// A command that a page says to measure something with measures something.
func TestWhatMeasuresFiguresExists(t *testing.T) {
	report, err := os.ReadFile(filepath.Join("..", "internal", "measure", "report", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range benchPart.FindAllStringSubmatch(string(text), -1) {
			found++
			if !strings.Contains(string(report), `{"`+part[1]+`", `) {
				t.Errorf("%s: make bench has no part %s", page, part[1])
			}
		}
	}
	if found < 8 {
		t.Errorf("only %d were found", found)
	}
}
