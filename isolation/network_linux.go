package isolation

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// A network that leads to this process alone is made before bubblewrap starts: a script runs in a user and a network
// namespace of its own, where it may listen on any port, sends the sockets here and becomes bubblewrap. Nothing of ours
// has to run inside for that, and no socket has to be found there.

// proxyPort is the port of ProxyAddress.
const proxyPort = 3128

// listenBacklog limits the pending connections of each port.
const listenBacklog = 1024

// wrapInNetworkLauncher changes the command to start bubblewrap through the network launcher. It returns the socket that
// receives the listeners.
func (s *bwrapCommand) wrapInNetworkLauncher(bwrap string, p *ProxiedNetwork) (*os.File, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "sockets"), os.NewFile(uintptr(pair[1]), "sockets")
	s.args.passFile(theirs)
	s.cmd.ExtraFiles = append(s.cmd.ExtraFiles, theirs)
	image := buildNetworkLauncher(bwrap, firstInherited+len(s.cmd.ExtraFiles), p)
	if image == nil {
		_ = ours.Close()
		return nil, errors.New("there is no network by name for this architecture")
	}
	program, err := newMemoryFile("network", image)
	if err != nil {
		_ = ours.Close()
		return nil, err
	}
	s.args.files = append(s.args.files, program) // to be closed with the others; nobody inherits it
	s.cmd.Path = fmt.Sprintf("/proc/self/fd/%d", program.Fd())
	attr := syscall.SysProcAttr{}
	if s.cmd.SysProcAttr != nil {
		attr = *s.cmd.SysProcAttr
	}
	attr.Cloneflags |= syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	if os.Geteuid() != 0 { // who is root there has them anyway
		attr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE}
	}
	s.cmd.SysProcAttr = &attr
	return ours, nil
}

// buildNetworkLauncher returns a program that enables loopback, listens on the ports, sends the sockets and those for
// connections to this process, and executes bubblewrap. first is the first free descriptor; first-1 is the socket that takes the
// listeners.
func buildNetworkLauncher(bwrap string, first int, p *ProxiedNetwork) []byte {
	s := &syscallLauncherBuilder{}
	next := uint64(first) //nolint:gosec // small, as all numbers here
	everything := uint64(math.MaxInt32)
	socket := func(kind uint64, address [4]byte, port uint16) {
		raw := binary.NativeEndian.AppendUint16(nil, unix.AF_INET)
		raw = append(binary.BigEndian.AppendUint16(raw, port), address[:]...)
		s.addCall(unix.SYS_SOCKET, unix.AF_INET, kind|unix.SOCK_CLOEXEC, 0)
		if kind == unix.SOCK_DGRAM {
			up := append([]byte("lo"), make([]byte, unix.IFNAMSIZ-2)...)
			up = binary.NativeEndian.AppendUint16(up, unix.IFF_UP|unix.IFF_RUNNING)
			s.addCall(unix.SYS_IOCTL, next, unix.SIOCSIFFLAGS, s.addData(append(up, make([]byte, 22)...)))
			// The kernel adds 11.0.0.0/8, in which NameAddresses are. The C library looks for IPv4 addresses only on a
			// machine that has another one than 127.0.0.1 (AI_ADDRCONFIG).
			more := append([]byte("lo:1"), make([]byte, unix.IFNAMSIZ-4)...)
			more = append(binary.NativeEndian.AppendUint16(more, unix.AF_INET), 0, 0, 11, 0, 0, 1)
			s.addCall(unix.SYS_IOCTL, next, unix.SIOCSIFADDR, s.addData(append(more, make([]byte, 16)...)))
		}
		s.addCall(unix.SYS_BIND, next, s.addData(append(raw, make([]byte, 8)...)), 16)
		if kind == unix.SOCK_STREAM { // and answers from addresses that are not this machine's
			yes := binary.NativeEndian.AppendUint32(nil, 1)
			s.addCall(unix.SYS_SETSOCKOPT, next, unix.SOL_IP, unix.IP_TRANSPARENT, s.addData(yes), uint64(len(yes)))
			s.addCall(unix.SYS_LISTEN, next, listenBacklog)
		}
		next++
	}
	local := [4]byte{127, 0, 0, 1}
	s.addCall(unix.SYS_CLOSE_RANGE, next, everything, 0)
	socket(unix.SOCK_DGRAM, local, 53)
	routes, kernel := portRouteMessages(p.Ports), append(binary.NativeEndian.AppendUint16(nil, unix.AF_NETLINK), make([]byte, 10)...)
	s.addCall(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	s.addCall(unix.SYS_SENDTO, next, s.addData(routes), uint64(len(routes)), 0, s.addData(kernel), uint64(len(kernel)))
	s.addCall(unix.SYS_CLOSE, next)
	socket(unix.SOCK_STREAM, local, proxyPort)
	for _, port := range p.Ports {
		socket(unix.SOCK_STREAM, [4]byte{}, port)
	}
	for _, family := range dialedFamilies(p) {
		for range dialSockets {
			s.addCall(unix.SYS_SOCKET, uint64(family), unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			next++
		}
	}
	var sockets []int
	for fd := first; fd < int(next); fd++ { //nolint:gosec // small
		sockets = append(sockets, fd)
	}
	rights := unix.UnixRights(sockets...)
	vector := s.addNumbers(s.addData([]byte{1}), 1)
	header := s.addNumbers(0, 0, vector, 1, s.addData(rights), uint64(len(rights)), 0)
	s.addCall(unix.SYS_SENDMSG, uint64(first-1), header, 0)                       //nolint:gosec // small
	s.addCall(unix.SYS_CLOSE_RANGE, uint64(first-1), everything, 0)               //nolint:gosec // small
	s.addCall(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL) // bubblewrap wants none
	return s.buildELF(bwrap, "picoclaw: the sandbox's network namespace could not be created\n")
}

// portRouteMessages returns netlink messages that lead TCP connections to these ports of all IPv4 addresses to the
// listeners: a table with one local route, and a rule for each port. Everything else still fails at once.
func portRouteMessages(ports []uint16) []byte {
	const table, loopback = 100, 1
	attribute := func(kind uint16, value ...byte) []byte {
		a := binary.NativeEndian.AppendUint16(nil, uint16(unix.SizeofRtAttr+len(value))) //nolint:gosec // small
		a = append(binary.NativeEndian.AppendUint16(a, kind), value...)
		return append(a, make([]byte, -len(a)&3)...)
	}
	message := func(kind uint16, header [4]byte, attributes ...[]byte) []byte {
		rest := slices.Concat(attributes...)
		m := binary.NativeEndian.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+unix.SizeofRtMsg+len(rest))) //nolint:gosec // small
		m = binary.NativeEndian.AppendUint16(m, kind)
		m = binary.NativeEndian.AppendUint16(m, unix.NLM_F_REQUEST|unix.NLM_F_CREATE)
		m = append(append(m, make([]byte, 8)...), unix.AF_INET, 0, 0, 0)
		return append(append(append(m, header[:]...), 0, 0, 0, 0), rest...)
	}
	all := message(unix.RTM_NEWROUTE, [4]byte{table, unix.RTPROT_BOOT, unix.RT_SCOPE_HOST, unix.RTN_LOCAL},
		attribute(unix.RTA_OIF, binary.NativeEndian.AppendUint32(nil, loopback)...), attribute(unix.RTA_PREFSRC, 127, 0, 0, 1))
	for _, port := range ports {
		pair := binary.NativeEndian.AppendUint16(binary.NativeEndian.AppendUint16(nil, port), port)
		all = append(all, message(unix.RTM_NEWRULE, [4]byte{table, 0, 0, unix.FR_ACT_TO_TBL},
			attribute(unix.FRA_IP_PROTO, unix.IPPROTO_TCP), attribute(unix.FRA_DPORT_RANGE, pair...))...)
	}
	return all
}

// receiveListeners receives the sockets that the network launcher sends.
func receiveListeners(from *os.File, p *ProxiedNetwork) (NetworkListeners, error) {
	defer func() { _ = from.Close() }()
	families := dialedFamilies(p)
	most := 2 + len(p.Ports) + dialSockets*len(families)
	control := make([]byte, unix.CmsgSpace(4*most))
	n, size, _, _, err := unix.Recvmsg(int(from.Fd()), make([]byte, 1), control, unix.MSG_CMSG_CLOEXEC)
	if err != nil || n == 0 {
		return NetworkListeners{}, fmt.Errorf("the sandbox's network was not created: %w", errors.Join(err, os.ErrClosed))
	}
	messages, err := unix.ParseSocketControlMessage(control[:size])
	if err != nil || len(messages) != 1 {
		return NetworkListeners{}, fmt.Errorf("the sandbox's network was not handed over: %w", err)
	}
	descriptors, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(descriptors) != most {
		return NetworkListeners{}, fmt.Errorf("the sandbox's network was not handed over whole: %w", err)
	}
	l := NetworkListeners{Room: connectionLimit()}
	var dialers []*socketPool
	for i := range families {
		dialers = append(dialers, newSocketPool(families[i], descriptors[most-dialSockets*(len(families)-i):][:dialSockets]))
	}
	if p.Dials {
		l.Dial, l.closeDialer = dialAnyFamily(dialers)
	}
	for i, fd := range descriptors[:2+len(p.Ports)] {
		file := os.NewFile(uintptr(fd), "socket")
		var made error
		if i == 0 {
			l.Names, made = net.FilePacketConn(file)
		} else {
			var listener net.Listener
			if listener, made = net.FileListener(file); i == 1 {
				l.Proxy = listener
			} else {
				l.Ports = append(l.Ports, listener)
			}
		}
		err = errors.Join(err, made, file.Close())
	}
	return l, err
}

// connectionLimit returns the maximum number of connections in one network, a sixteenth of this process's descriptors.
func connectionLimit() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 64
	}
	return int(min(limit.Cur, 1<<20)) / 16 //nolint:gosec // bounded
}

// sandboxNetwork serves a sandbox's listeners.
type sandboxNetwork struct {
	served chan struct{}
	open   NetworkListeners
	stop   func()
	err    error
}

// serveNetwork accepts a sandbox's connections once its listeners arrive; nil without listeners.
func serveNetwork(sockets *os.File, p Profile) *sandboxNetwork {
	if sockets == nil {
		return nil
	}
	n := &sandboxNetwork{served: make(chan struct{})}
	go func() {
		defer close(n.served)
		if n.open, n.err = receiveListeners(sockets, p.Proxied); n.err == nil {
			n.stop = p.Proxied.Serve(n.open)
		}
	}()
	return n
}

// closeNetwork closes the listeners of the sandbox.
func (n *sandboxNetwork) closeNetwork() {
	if n == nil {
		return
	}
	<-n.served
	if n.err == nil {
		n.open.Close()
		n.stop()
	}
}
