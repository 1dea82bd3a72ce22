package supervise

import "os"

// isPrivate returns true: Windows closes a user's directories to other users by default.
func isPrivate(os.FileInfo) bool { return true }
