package config_test

import (
	"os"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestMain(m *testing.M) {
	os.Exit(clitest.BuildProgramsAndRunTests(m, clitest.TestNeeds{}))
}

func TestScripts(t *testing.T) { clitest.RunScripts(t, nil) }
