package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/pty"
	"github.com/picoclaw/picoclaw/sdk/pluginpolicy"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

// SocketFD is the descriptor of the supervisor's socket.
const SocketFD = 3

// Start is the first message to the supervisor.
type Start struct {
	Policy  *pluginpolicy.Policy `json:"policy"`
	Program []string             `json:"program"` // absolute path and arguments
	Env     map[string]string    `json:"env"`
	Dir     string               `json:"dir"`     // absolute
	Summary string               `json:"summary"` // for the undo history

	// Terminal is the size of the terminal to make; nil for none. Streams says which standard streams lead to it.
	Terminal *pty.Size `json:"terminal,omitempty"`
	Streams  [3]bool   `json:"streams"`
}

// Control is a later message to the supervisor.
type Control struct {
	Signal   int   `json:"signal,omitempty"`   // to the program and its descendants
	Continue bool  `json:"continue,omitempty"` // after [Event.Stopped]
	Hook     *Hook `json:"hook,omitempty"`     // answer to [Event.Hook]
}

// Hook is a question of the program's hook, or the answer to it.
type Hook struct {
	ID   int             `json:"id"` // of the question
	Data json.RawMessage `json:"data"`
}

// Event is a message from the supervisor. One field is set.
type Event struct {
	Started bool   `json:"started,omitempty"` // with the descriptor of the terminal, if there is one
	Stopped bool   `json:"stopped,omitempty"` // the program was stopped, as by Ctrl-Z
	Failed  string `json:"failed,omitempty"`  // why it can't be started
	Hook    *Hook  `json:"hook,omitempty"`    // a question of the program's hook
	Ended   *Ended `json:"ended,omitempty"`
}

// Ended says how the program ended and what it changed.
type Ended struct {
	Code     int    `json:"code"`
	Exceeded string `json:"exceeded,omitempty"` // the limit it was ended for

	Changes   undo.OperationResult `json:"changes"`
	Refused   []string             `json:"refused,omitempty"`    // changes of protected files, with reasons
	Found     []string             `json:"found,omitempty"`      // protected files that it or others changed
	NoHistory string               `json:"no_history,omitempty"` // why nothing was recorded
}

// maxPacket limits a message.
const maxPacket = 1 << 20

// Conn is one end of the socket.
type Conn struct{ *net.UnixConn }

// Pair returns the host's end of a socket, and the supervisor's as a file.
func Pair() (Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return Conn{}, nil, fmt.Errorf("make a socket: %w", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "supervisor")
	ours, err := FromFile(os.NewFile(uintptr(fds[0]), "host"))
	if err != nil {
		_ = theirs.Close()
	}
	return ours, theirs, err
}

// FromFile takes over a file that is an end of the socket.
func FromFile(f *os.File) (Conn, error) {
	defer func() { _ = f.Close() }()
	c, err := net.FileConn(f)
	if err != nil {
		return Conn{}, err
	}
	socket, ok := c.(*net.UnixConn)
	if !ok {
		return Conn{}, errors.Join(fmt.Errorf("%s is no Unix socket", f.Name()), c.Close())
	}
	return Conn{socket}, errors.Join(socket.SetReadBuffer(maxPacket), socket.SetWriteBuffer(maxPacket))
}

// Send sends a message, with a file if it is not nil.
func (c Conn) Send(message any, file *os.File) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if len(data) > maxPacket/2 {
		return fmt.Errorf("a message of %d bytes is too long", len(data))
	}
	var rights []byte
	if file != nil {
		rights = unix.UnixRights(int(file.Fd()))
	}
	_, _, err = c.WriteMsgUnix(data, rights, nil)
	return err
}

// Receive reads a message and the file that came with it, or nil.
func (c Conn) Receive(message any) (*os.File, error) {
	data, rights := make([]byte, maxPacket), make([]byte, unix.CmsgSpace(4))
	n, m, _, _, err := c.ReadMsgUnix(data, rights)
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		return nil, err
	}
	var file *os.File
	if m > 0 {
		if file, err = fileFrom(rights[:m]); err != nil {
			return nil, err
		}
	}
	return file, json.Unmarshal(data[:n], message)
}

// fileFrom returns the file in a control message, ready for the poller.
func fileFrom(rights []byte) (*os.File, error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, err
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, err
	}
	unix.CloseOnExec(fds[0])
	if err := unix.SetNonblock(fds[0], true); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fds[0]), "terminal"), nil
}
