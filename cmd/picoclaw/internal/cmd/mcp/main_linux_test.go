package mcp_test

import (
	"os"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/cmd/internal/clitest/mcptest"
)

func TestMain(m *testing.M) {
	os.Exit(clitest.BuildProgramsAndRunTests(m, clitest.TestNeeds{Programs: mcptest.ServerPrograms}))
}

func TestScripts(t *testing.T) { clitest.RunScripts(t, nil) }
