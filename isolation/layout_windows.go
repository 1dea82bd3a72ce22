package isolation

import "strings"

var userEnvVars = []userEnvVar{
	{"USERPROFILE", "."},
	{"HOME", "."},
	{"TEMP", `AppData\Local\Temp`},
	{"TMP", `AppData\Local\Temp`},
	{"APPDATA", `AppData\Roaming`},
	{"LOCALAPPDATA", `AppData\Local`},
}

// Windows does not tell variables apart by case.
func sameEnvName(a, b string) bool { return strings.EqualFold(a, b) }
