//go:build !linux

package main

import (
	"os"
	"runtime"
	"syscall"

	"github.com/picoclaw/picoclaw/sdk"
)

// openTerminal refuses: terminals are made on Linux only.
func openTerminal(int, int) (ours, theirs *os.File, err error) {
	return nil, nil, sdk.Errorf(sdk.InvalidArgument, "commands can't have a terminal on %s", runtime.GOOS).
		WithHint("leave pty out")
}

func resizeTerminal(*os.File, int, int) error { return nil }

func onTerminal() *syscall.SysProcAttr { return nil }

// signals are those that can be sent, by name.
func signals() map[string]os.Signal {
	return map[string]os.Signal{"INT": os.Interrupt, "KILL": os.Kill}
}
