package workspace

import (
	"fmt"
	"os"
	"testing"
)

// TestMain runs the tests, or is one of the processes that tests need beside their own.
func TestMain(m *testing.M) {
	var err error
	switch {
	case os.Getenv(writerVariable) != "":
		err = writeForever(os.Getenv(writerVariable), os.Getenv(stateVariable))
	case os.Getenv(fullVariable) != "":
		err = fillDisk(os.Getenv(fullVariable))
	case os.Getenv(ownerVariable) != "":
		err = changeOthers(os.Getenv(ownerVariable), os.Getenv(stateVariable))
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
