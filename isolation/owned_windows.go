package isolation

import "os"

// checkOwned takes what is there: the directory is below the user's own, and its access list is inherited from that.
func checkOwned(string, os.FileInfo) error { return nil }
