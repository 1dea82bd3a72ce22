package kernel_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestMain(m *testing.M) {
	if kernel := os.Getenv(oldKernel); kernel != "" {
		fmt.Fprintln(os.Stderr, become(kernel, os.Args[1:]))
		os.Exit(1)
	}
	os.Exit(clitest.BuildProgramsAndRunTests(m, clitest.TestNeeds{BothUsers: true}))
}

func TestScripts(t *testing.T) { clitest.RunScripts(t, nil) }
