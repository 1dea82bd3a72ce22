package hub

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// CheckListen checks an address to listen at, if any, and the names by which other machines reach it.
func CheckListen(address string, names []string) error {
	if address != "" {
		if _, _, err := splitListen(address); err != nil {
			return err
		}
	}
	for _, name := range names {
		if ip, err := netip.ParseAddr(name); err == nil && ip.Zone() == "" && !ip.IsUnspecified() || isHost(name) {
			continue
		}
		return fmt.Errorf("other machines can't reach the hub by the name %q: want a host name or an IP address", name)
	}
	return nil
}

// splitListen splits an address to listen at. A port of 0 is any, a host that is empty all addresses of the machine.
func splitListen(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("%q is not an address such as 0.0.0.0:4222", address)
	}
	if _, ipErr := netip.ParseAddr(host); ipErr != nil && host != "" && !isHost(host) {
		return "", 0, fmt.Errorf("%q is not an address such as 0.0.0.0:4222: %q is no host", address, host)
	}
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("%q is not an address such as 0.0.0.0:4222: %q is no port from 0 to 65535", address, text)
	}
	return host, int(number), nil
}

var (
	label  = lazyregexp.New(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$`)
	digits = lazyregexp.New(`^[0-9]+$`)
)

// isHost reports whether a machine may be called so.
func isHost(name string) bool {
	labels := strings.Split(name, ".")
	for _, l := range labels {
		if !label().MatchString(l) {
			return false
		}
	}
	return len(name) <= 253 && !digits().MatchString(labels[len(labels)-1]) // or it is taken for an IP address
}

// tryListen tries whether the hub can listen at an address: the server that does takes long to say that it can't.
func tryListen(address string) error {
	l, err := net.Listen("tcp", address)
	if err == nil {
		return l.Close()
	}
	hint := ""
	if errors.Is(err, syscall.EADDRINUSE) {
		hint = "; is another server there?"
	}
	if why, ok := errors.AsType[*net.OpError](err); ok {
		err = why.Err // the address is said already
	}
	return fmt.Errorf("the hub can't serve at %s: %w%s", address, err, hint)
}
