package console_test

import (
	"os"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestMain(m *testing.M) {
	os.Exit(clitest.BuildProgramsAndRunTests(m, clitest.TestNeeds{}))
}
