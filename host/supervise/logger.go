package supervise

import "github.com/hashicorp/go-hclog"

// libraryLogger is go-plugin's logger. What the library warns of by itself, such as a process that had to be killed,
// this package has done on purpose or tells in words of its own. What a plugin logs comes by way of Named.
type libraryLogger struct{ hclog.Logger }

// Named returns the logger for what the plugin logs. Its name would be the plugin's a second time.
func (l libraryLogger) Named(string) hclog.Logger { return pluginLogger{l.Logger, &bucket{}} }

func (l libraryLogger) Warn(message string, args ...any) { l.Debug(message, args...) }
