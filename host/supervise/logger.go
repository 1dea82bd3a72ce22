package supervise

import "github.com/hashicorp/go-hclog"

// libraryLogger is go-plugin's logger. What the library warns of by itself, such as a process that had to be killed,
// this package has done on purpose or tells in words of its own. What a plugin logs passes through Named, unchanged.
type libraryLogger struct{ hclog.Logger }

func (l libraryLogger) Warn(message string, args ...any) { l.Debug(message, args...) }
