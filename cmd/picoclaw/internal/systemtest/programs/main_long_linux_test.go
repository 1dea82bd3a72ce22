//go:build long

// Package programs runs everyday programs as commands of exec.
package programs

import (
	"os"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestMain(m *testing.M) { os.Exit(clitest.BuildProgramsAndRunTests(m, clitest.TestNeeds{})) }
