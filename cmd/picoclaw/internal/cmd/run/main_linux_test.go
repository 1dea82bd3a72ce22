package run_test

import (
	"os"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

func TestMain(m *testing.M) {
	os.Exit(clitest.Main(m, clitest.Needs{BothUsers: true}))
}
