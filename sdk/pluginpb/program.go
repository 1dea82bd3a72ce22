package pluginpb

// ProgramName is the name of the file that a plugin's program is in, beside its manifest, on an operating system as
// runtime.GOOS has it: its id, with .exe on Windows, which starts nothing else.
func ProgramName(id, goos string) string {
	if goos == "windows" {
		return id + ".exe"
	}
	return id
}
