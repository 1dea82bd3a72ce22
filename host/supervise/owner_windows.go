package supervise

import "os"

// isPrivateDir returns true, since Windows closes a user's directories to other users.
func isPrivateDir(os.FileInfo) bool { return true }
