package main

import "syscall"

// supportedSignals are the signals that the tool process can send, by name.
var supportedSignals = map[string]syscall.Signal{"KILL": syscall.SIGKILL}
