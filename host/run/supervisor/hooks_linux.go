package supervisor

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picoclaw/picoclaw/host/run/internal/wire"
)

// hookRelay passes the questions of the program's hooks to the host. A hook connects to a socket in the program's
// /tmp, sends one question in JSON, and receives the answer.
type hookRelay struct {
	listener net.Listener

	last    atomic.Int64 // id of a question
	waiting sync.Map     // chan json.RawMessage by id
}

const (
	maxQuestion   = 400 << 10 // bytes; a message of the host's socket has room for it
	maxQuestions  = 16        // at a time
	questionGrace = 5 * time.Minute
)

// listenHooks opens the socket, and sets the variable with its path in the program's environment.
func (h *hookRelay) listenHooks(s *supervisor) (err error) {
	if err = os.RemoveAll(wire.HookSocket); err != nil {
		return err
	}
	if h.listener, err = net.Listen("unix", wire.HookSocket); err != nil {
		return fmt.Errorf("listen for the program's hooks: %w", err)
	}
	if s.start.Env == nil {
		s.start.Env = map[string]string{}
	}
	s.start.Env[wire.HookVariable] = wire.HookSocket
	go h.serveHooks(s)
	return nil
}

func (h *hookRelay) serveHooks(s *supervisor) {
	slots := make(chan struct{}, maxQuestions)
	for {
		conn, err := h.listener.Accept()
		if err != nil {
			return
		}
		slots <- struct{}{}
		go func() {
			defer func() { _ = conn.Close(); <-slots }()
			_ = conn.SetDeadline(time.Now().Add(questionGrace))
			if answer := h.answerQuestion(s, conn); answer != nil {
				_, _ = conn.Write(answer)
			}
		}()
	}
}

// answerQuestion returns the answer to a hook; nil without an answer, which hooks treat as a refusal.
func (h *hookRelay) answerQuestion(s *supervisor, conn net.Conn) json.RawMessage {
	var question json.RawMessage
	if json.NewDecoder(io.LimitReader(conn, maxQuestion)).Decode(&question) != nil {
		return nil
	}
	if string(question) != wire.TurnEnded {
		return h.askHost(s.socket, question)
	}
	if s.bursts != nil {
		s.bursts.endBurst(func() bool { return true })
	}
	return json.RawMessage(`{}`)
}

// askHost passes a question to the host and returns the answer.
func (h *hookRelay) askHost(host wire.MessageConn, question json.RawMessage) json.RawMessage {
	answer := make(chan json.RawMessage, 1)
	id := int(h.last.Add(1))
	h.waiting.Store(id, answer)
	defer h.waiting.Delete(id)
	if host.Send(wire.SupervisorEvent{Hook: &wire.HookMessage{ID: id, Data: question}}, nil) != nil {
		return nil
	}
	select {
	case text := <-answer:
		return text
	case <-time.After(questionGrace):
		return nil
	}
}

// deliverAnswer passes an answer of the host to the connection that waits for it.
func (h *hookRelay) deliverAnswer(a *wire.HookMessage) {
	if waiting, ok := h.waiting.LoadAndDelete(a.ID); ok {
		waiting.(chan json.RawMessage) <- a.Data
	}
}
