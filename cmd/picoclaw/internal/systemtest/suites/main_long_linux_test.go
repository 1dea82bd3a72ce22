//go:build long

// Package suites runs other projects' tests as commands of exec, and compares the results with those outside.
//
// Of git's tests it runs the scripts whose number ends in 0 or 5, below t9000: 224 scripts about all parts of git. Most
// scripts from t9000 need Subversion, CVS or Perforce. The tests run without protected files, where hardly any difference
// is accepted, and with protected files, where tests may fail after changes that docs/protected.md refuses.
//
// With PICOCLAW_TEST_RESULTS=DIRECTORY, each run's output is kept there.
package suites

import (
	"os"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestMain(m *testing.M) { os.Exit(clitest.BuildProgramsAndRunTests(m, clitest.TestNeeds{})) }
