package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/results"
	"github.com/picoclaw/picoclaw/host/agent"
)

// turnView shows a turn as it happens: the model's words, if they are wanted, and a line for each call and notice.
type turnView struct {
	out  *terminal.Out
	text bool // show the model's words
	open bool // the last line is not at its end
}

func (v *turnView) event(e agent.Event) {
	switch e.Kind {
	case agent.TextEvent:
		if v.text {
			fmt.Fprint(v.out, v.out.Clean(e.Text))
			v.open = !strings.HasSuffix(e.Text, "\n")
		}
	case agent.CallEvent:
		var args map[string]any
		line := string(e.Call.Arguments)
		if json.Unmarshal(e.Call.Arguments, &args) == nil {
			line = results.ArgumentLine(args)
		}
		v.line(terminal.Faint, "→ "+e.Call.Tool+" "+line)
	case agent.ResultEvent:
		if e.Result.Err != nil {
			v.line(terminal.Bad, "✗ "+e.Call.Tool+": "+e.Result.Err.Message)
			if e.Result.Err.Rule != "" {
				v.line(terminal.Faint, "  rule: "+e.Result.Err.Rule)
			}
		}
	case agent.NoticeEvent:
		v.line(terminal.Doubt, "! "+e.Text)
	case agent.OutputEvent: // the result has it
	}
}

// lineWidth is how much of a call is shown.
const lineWidth = 200

func (v *turnView) line(style terminal.Style, text string) {
	v.newLine()
	fmt.Fprintln(v.out, v.out.Paint(style, terminal.Shorten(terminal.Line(text), lineWidth)))
}

func (v *turnView) newLine() {
	if v.open {
		fmt.Fprintln(v.out)
	}
	v.open = false
}
