package fleet_test

import (
	"os"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

// prepare makes what tests with the tag long need.
var prepare func(dir string) error

func TestMain(m *testing.M) {
	os.Exit(clitest.BuildProgramsAndRunTests(m, clitest.TestNeeds{Prepare: prepare, Programs: map[string]string{
		"bin/picoclaw-hub": "github.com/picoclaw/picoclaw/cmd/picoclaw-hub",
	}}))
}
