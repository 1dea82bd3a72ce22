package call

import (
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestNewCmdCall(t *testing.T) {
	clitest.CheckParsedOptions(t, NewCmdCall,
		clitest.OptionsCase[Options]{Line: "exec command=ls timeout=2 --agent reader",
			Want: Options{tool: "exec", agent: "reader", output: cli.Text, arguments: callArguments{pairs: []string{"command=ls", "timeout=2"}}}},
		clitest.OptionsCase[Options]{Line: "exec --json {} --output json",
			Want: Options{tool: "exec", output: cli.JSON, arguments: callArguments{json: "{}", isJSON: true}}},
		clitest.OptionsCase[Options]{Line: "--agent main", Usage: "name a tool"},
		clitest.OptionsCase[Options]{Line: "exec --output yaml", Usage: "output"})
}

func TestNewCmdExplain(t *testing.T) {
	clitest.CheckParsedOptions(t, NewCmdExplain,
		clitest.OptionsCase[ExplainOptions]{Line: "exec command=ls",
			Want: ExplainOptions{subject: "exec", output: cli.Text, arguments: callArguments{pairs: []string{"command=ls"}}}},
		clitest.OptionsCase[ExplainOptions]{Line: "network api.example.com",
			Want: ExplainOptions{subject: "network", output: cli.Text, arguments: callArguments{pairs: []string{"api.example.com"}}}},
		clitest.OptionsCase[ExplainOptions]{Line: "--batch", Want: ExplainOptions{batch: true, output: cli.Text}},
		clitest.OptionsCase[ExplainOptions]{Line: "", Usage: "name a tool"},
		clitest.OptionsCase[ExplainOptions]{Line: "--batch exec", Usage: `explain --batch takes no argument "exec"`},
		clitest.OptionsCase[ExplainOptions]{Line: "/etc/hosts b", Usage: "name the tool first"},
		clitest.OptionsCase[ExplainOptions]{Line: "network", Usage: "takes one host"})
}

func TestNewCmdBatch(t *testing.T) {
	clitest.CheckParsedOptions(t, NewCmdBatch,
		clitest.OptionsCase[BatchOptions]{Line: "", Want: BatchOptions{jobs: 1}},
		clitest.OptionsCase[BatchOptions]{Line: "--jobs 256", Want: BatchOptions{jobs: 256}},
		clitest.OptionsCase[BatchOptions]{Line: "--jobs 257", Usage: "want 1 to 256"},
		clitest.OptionsCase[BatchOptions]{Line: "calls.jsonl", Usage: "takes no argument"})
}

func TestNewCmdTools(t *testing.T) {
	clitest.CheckParsedOptions(t, NewCmdTools,
		clitest.OptionsCase[cli.CommonOptions]{Line: "--agent a --output json", Want: cli.CommonOptions{Agent: "a", Output: cli.JSON}},
		clitest.OptionsCase[cli.CommonOptions]{Line: "exec", Want: cli.CommonOptions{Argument: "exec", Output: cli.Text}},
		clitest.OptionsCase[cli.CommonOptions]{Line: "exec grep", Usage: "takes one tool"})
}
