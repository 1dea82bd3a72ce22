package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/protect"
	"github.com/picoclaw/picoclaw/internal/pty"
	"github.com/picoclaw/picoclaw/sdk/pluginpolicy"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

// SocketFD is the descriptor of the supervisor's socket.
const SocketFD = 3

// StartMessage is the first message to the supervisor. It describes the program and its access.
type StartMessage struct {
	Policy  *pluginpolicy.Policy `json:"policy"`
	Program []string             `json:"program"` // absolute path and arguments
	Env     map[string]string    `json:"env"`
	Dir     string               `json:"dir"`     // absolute
	Summary string               `json:"summary"` // for the undo history
	// SharedGit is the git directory of the project if it is outside; else nil.
	SharedGit *protect.SharedGitDir `json:"shared_git,omitempty"`

	// Terminal is the size of the terminal to make; nil for none. Streams says which standard streams lead to it.
	Terminal *pty.Size `json:"terminal,omitempty"`
	Streams  [3]bool   `json:"streams"`
}

// ControlMessage is a later message to the supervisor: a signal, a continuation, an answer for a hook, or an approval.
type ControlMessage struct {
	Signal   int          `json:"signal,omitempty"`   // to the program and its descendants
	Continue bool         `json:"continue,omitempty"` // after [SupervisorEvent.Stopped]
	Hook     *HookMessage `json:"hook,omitempty"`     // answer to [SupervisorEvent.Hook]
	Approve  string       `json:"approve,omitempty"`  // path of [SupervisorEvent.Ask], which a person has approved
}

// HookMessage is a question of the program's hook, or the host's answer.
type HookMessage struct {
	ID   int             `json:"id"` // of the question
	Data json.RawMessage `json:"data"`
}

// SupervisorEvent is a message from the supervisor. Exactly one field is set.
type SupervisorEvent struct {
	Started bool         `json:"started,omitempty"` // with the descriptor of the terminal, if there is one
	Stopped bool         `json:"stopped,omitempty"` // the program was stopped, as by Ctrl-Z
	Failed  string       `json:"failed,omitempty"`  // why it can't be started
	Hook    *HookMessage `json:"hook,omitempty"`    // a question of the program's hook
	Ask     string       `json:"ask,omitempty"`     // a protected path whose change needs approval
	Ended   *RunOutcome  `json:"ended,omitempty"`
}

// RunOutcome is the exit status of the program, with its changes.
type RunOutcome struct {
	Code     int    `json:"code"`
	Exceeded string `json:"exceeded,omitempty"` // the limit it was ended for

	Changes   undo.RecordingResult `json:"changes"`
	Refused   []string             `json:"refused,omitempty"`    // changes of protected files, with reasons
	Found     []string             `json:"found,omitempty"`      // protected files that it or others changed
	NoHistory string               `json:"no_history,omitempty"` // why nothing was recorded
}

// ApprovalTime is the time for which an approval holds.
const ApprovalTime = 10 * time.Minute

// maxPacket limits the size of a message.
const maxPacket = 1 << 20

// MessageConn is one end of the socket between host and supervisor.
type MessageConn struct{ *net.UnixConn }

// NewSocketPair returns the host's end of a new socket, and the supervisor's end as a file.
func NewSocketPair() (MessageConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return MessageConn{}, nil, fmt.Errorf("make a socket: %w", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "supervisor")
	ours, err := MessageConnFromFile(os.NewFile(uintptr(fds[0]), "host"))
	if err != nil {
		_ = theirs.Close()
	}
	return ours, theirs, err
}

// MessageConnFromFile returns the connection of a file that is an end of the socket. It closes the file.
func MessageConnFromFile(f *os.File) (MessageConn, error) {
	defer func() { _ = f.Close() }()
	c, err := net.FileConn(f)
	if err != nil {
		return MessageConn{}, err
	}
	socket, ok := c.(*net.UnixConn)
	if !ok {
		return MessageConn{}, errors.Join(fmt.Errorf("%s is no Unix socket", f.Name()), c.Close())
	}
	return MessageConn{socket}, errors.Join(socket.SetReadBuffer(maxPacket), socket.SetWriteBuffer(maxPacket))
}

// Send sends a message as JSON, with a file unless it is nil.
func (c MessageConn) Send(message any, file *os.File) error {
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

// Receive reads a message, and returns the file that came with it; nil if none came.
func (c MessageConn) Receive(message any) (*os.File, error) {
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
		if file, err = receivedFile(rights[:m]); err != nil {
			return nil, err
		}
	}
	return file, json.Unmarshal(data[:n], message)
}

// receivedFile returns the file in a control message, with deadlines enabled.
func receivedFile(rights []byte) (*os.File, error) {
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
