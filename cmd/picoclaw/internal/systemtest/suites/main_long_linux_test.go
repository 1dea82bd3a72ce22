//go:build long

// Package suites runs other projects' tests as commands of exec.
package suites

import (
	"os"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestMain(m *testing.M) { os.Exit(clitest.BuildProgramsAndRunTests(m, clitest.TestNeeds{})) }
