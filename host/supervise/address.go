package supervise

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
)

// checkAddress accepts the address that a plugin printed only if it is a socket in the directory that was made for it,
// or on Windows, where plugins have none, a port of this machine's own. Anything else would have the host dial whatever
// the plugin likes. Who answers there has to have the instance's key, besides.
func checkAddress(goos, socketDir, network, address string) error {
	if goos == "windows" && network == "tcp" {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !at.Addr().IsLoopback() {
			return fmt.Errorf("offers the address %q, which is none of this machine's own", address)
		}
		return nil
	}
	if network != "unix" {
		return fmt.Errorf("offers a %s address; only unix sockets are taken", network)
	}
	if filepath.Dir(filepath.Clean(address)) != filepath.Clean(socketDir) {
		return fmt.Errorf("offers the socket %q, which is not in the directory made for it", address)
	}
	info, err := os.Lstat(address)
	if err != nil {
		return fmt.Errorf("offers a socket that can't be found: %w", err)
	}
	if info.Mode().Type() != os.ModeSocket {
		return fmt.Errorf("offers %q, which is not a socket", address)
	}
	return nil
}
