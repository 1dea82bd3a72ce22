package audit

import (
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/audit"
)

func TestNewCmdAudit(t *testing.T) {
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clitest.CheckParsedOptions(t, NewCmdAudit,
		clitest.OptionsCase[Options]{Line: "", Want: Options{output: cli.Text, limit: 50}},
		clitest.OptionsCase[Options]{Line: "--denied --failed --agent main --tool exec --session s --origin mcp --decision deny " +
			"--text x --since 2026-01-02T03:04:05Z --limit 0 -f --output json",
			Want: Options{output: cli.JSON, follow: true, filter: audit.Filter{Denied: true, Failed: true, Agent: "main",
				Tool: "exec", Session: "s", Origin: "mcp", Decision: "deny", Text: "x", Since: since}}},
		clitest.OptionsCase[Options]{Line: "--since yesterday", Usage: "--since"},
		clitest.OptionsCase[Options]{Line: "main", Usage: "takes no argument"})
	clitest.CheckParsedOptions(t, NewCmdStats,
		clitest.OptionsCase[Options]{Line: "--agent a", Want: Options{output: cli.Text, filter: audit.Filter{Agent: "a"}}},
		clitest.OptionsCase[Options]{Line: "--decision maybe", Usage: "--decision"})
	clitest.CheckParsedOptions(t, NewCmdExport,
		clitest.OptionsCase[ExportOptions]{Line: "--format csv --tool rm",
			Want: ExportOptions{format: "csv", filter: audit.Filter{Tool: "rm"}}})
	clitest.CheckParsedOptions(t, NewCmdVerify,
		clitest.OptionsCase[VerifyOptions]{Line: "--head ab --witness w", Want: VerifyOptions{head: "ab", witness: "w", output: cli.Text}},
		clitest.OptionsCase[VerifyOptions]{Line: "a", Usage: "takes no argument"})
}
