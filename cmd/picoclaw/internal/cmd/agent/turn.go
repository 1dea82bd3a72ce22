package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/results"
	"github.com/picoclaw/picoclaw/host/agent"
)

// turnPrinter prints a turn while it runs: the model's text, if wanted, and a line for each call and notice.
type turnPrinter struct {
	out        *terminal.Writer
	showText   bool // show the model's text
	unfinished bool // the last line has no newline
}

func (v *turnPrinter) showEvent(e agent.TurnEvent) {
	switch e.Kind {
	case agent.TextEvent:
		if v.showText {
			fmt.Fprint(v.out, v.out.ReplaceControls(e.Text))
			v.unfinished = !strings.HasSuffix(e.Text, "\n")
		}
	case agent.CallEvent:
		var args map[string]any
		line := string(e.Call.Arguments)
		if json.Unmarshal(e.Call.Arguments, &args) == nil {
			line = results.FormatArguments(args)
		}
		v.printLine(terminal.Faint, "→ "+e.Call.Tool+" "+line)
	case agent.ResultEvent:
		if e.Result.Err != nil {
			v.printLine(terminal.Bad, "✗ "+e.Call.Tool+": "+e.Result.Err.Message)
			if e.Result.Err.Rule != "" {
				v.printLine(terminal.Faint, "  rule: "+e.Result.Err.Rule)
			}
		}
	case agent.NoticeEvent:
		v.printLine(terminal.Doubt, "! "+e.Text)
	case agent.OutputEvent: // the result has it
	}
}

// maxCallWidth is the maximum length of a printed call.
const maxCallWidth = 200

func (v *turnPrinter) printLine(style terminal.Style, text string) {
	v.finishLine()
	fmt.Fprintln(v.out, v.out.Paint(style, terminal.Shorten(terminal.CleanLine(text), maxCallWidth)))
}

func (v *turnPrinter) finishLine() {
	if v.unfinished {
		fmt.Fprintln(v.out)
	}
	v.unfinished = false
}
