package main

import "syscall"

// signals are those that a process can be sent.
var signals = map[string]syscall.Signal{"KILL": syscall.SIGKILL}
