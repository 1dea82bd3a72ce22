package main

import "syscall"

// supportedSignals are the signals for processes.
var supportedSignals = map[string]syscall.Signal{"KILL": syscall.SIGKILL}
