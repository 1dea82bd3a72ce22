//go:build !unix

package main

import "os"

// hangup are the signals at which a daemon reads its configuration again: there are none here.
var hangup []os.Signal
