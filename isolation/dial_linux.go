package isolation

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A socket belongs to the network namespace in which it was created, and another process may connect it. So the network
// launcher creates sockets and sends them, and this process connects to servers in the namespace without entering it.
// A socket that was disconnected can be connected again.

const (
	dialSockets  = 64              // of each family; so many connections at once
	dialPatience = 5 * time.Second // for a free socket, and for a server that accepts nothing
)

// dialedFamilies are the address families of localhost in a network. A server may listen on one of them only.
func dialedFamilies(p *ProxiedNetwork) []int {
	if !p.Dials {
		return nil
	}
	if _, err := os.Stat("/proc/net/if_inet6"); err != nil {
		return []int{unix.AF_INET}
	}
	return []int{unix.AF_INET, unix.AF_INET6}
}

// socketPool has the sockets of a family that are not connected.
type socketPool struct {
	family int
	free   chan int
	closed chan struct{}

	mu sync.Mutex // while a socket is added, or the pool is closed
}

func newSocketPool(family int, sockets []int) *socketPool {
	p := &socketPool{family: family, free: make(chan int, len(sockets)), closed: make(chan struct{})}
	for _, fd := range sockets {
		p.free <- fd
	}
	return p
}

// dialAnyFamily returns a function that connects to a port of localhost by the first family that works, and one that
// closes the sockets. Connections go on until their owner closes them.
func dialAnyFamily(pools []*socketPool) (dial func(uint16) (net.Conn, error), closeAll func()) {
	dial = func(port uint16) (conn net.Conn, err error) {
		for _, p := range pools {
			if conn, err = p.dial(port); err == nil {
				return conn, nil
			}
		}
		return nil, fmt.Errorf("connect to port %d in the sandbox: %w", port, err)
	}
	return dial, sync.OnceFunc(func() {
		for _, p := range pools {
			p.close()
		}
	})
}

func (p *socketPool) dial(port uint16) (net.Conn, error) {
	var fd int
	select {
	case <-p.closed:
		return nil, net.ErrClosed
	case fd = <-p.free:
	case <-time.After(dialPatience):
		return nil, fmt.Errorf("there are %d connections already", cap(p.free))
	}
	conn, err := p.connect(fd, port)
	if err != nil {
		p.recycle(fd)
		return nil, err
	}
	return &dialedConn{TCPConn: conn, release: sync.OnceFunc(func() { p.recycle(fd) })}, nil
}

func (p *socketPool) connect(fd int, port uint16) (*net.TCPConn, error) {
	var to unix.Sockaddr = &unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}}
	if p.family == unix.AF_INET6 {
		to = &unix.SockaddrInet6{Port: int(port), Addr: [16]byte{15: 1}}
	}
	patience := unix.NsecToTimeval(dialPatience.Nanoseconds())
	err := errors.Join(unix.SetNonblock(fd, false), unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &patience))
	if err == nil {
		err = unix.Connect(fd, to)
	}
	if err != nil {
		return nil, os.NewSyscallError("connect", err)
	}
	again, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	file := os.NewFile(uintptr(again), "connection") //nolint:gosec // a descriptor
	defer func() { _ = file.Close() }()
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

// recycle disconnects a socket and makes it available. What it can't disconnect it closes, and the pool has one less.
func (p *socketPool) recycle(fd int) {
	unspecified := [16]byte{} // an address of the family AF_UNSPEC
	_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&unspecified)), unsafe.Sizeof(unspecified))
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.closed:
	default:
		if errno == 0 {
			p.free <- fd
			return
		}
	}
	_ = unix.Close(fd)
}

func (p *socketPool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.closed)
	for {
		select {
		case fd := <-p.free:
			_ = unix.Close(fd)
		default:
			return
		}
	}
}

// dialedConn is a connection over a socket of a pool. Close gives the socket back.
type dialedConn struct {
	*net.TCPConn

	release func()
}

// Close closes the connection.
func (c *dialedConn) Close() error {
	err := c.TCPConn.Close()
	c.release()
	return err
}
