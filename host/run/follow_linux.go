package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/picoclaw/picoclaw/host/run/internal/wire"
	"github.com/picoclaw/picoclaw/internal/smallfile"
)

// stopGrace limits how long a program may run after a signal to end.
const stopGrace = 5 * time.Second

// startAndFollowProgram starts the program through the supervisor, and handles messages and signals until the program ends.
func (a *activeRun) startAndFollowProgram(ctx context.Context, start wire.StartMessage) (*wire.RunOutcome, error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGWINCH, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT)
	defer signal.Stop(signals)
	if err := a.socket.Send(start, nil); err != nil {
		return nil, a.supervisorExitError(err)
	}
	events, failed := make(chan supervisorMessage), make(chan error, 1)
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			var e supervisorMessage
			var err error
			if e.file, err = a.socket.Receive(&e.SupervisorEvent); err != nil {
				failed <- err
				return
			}
			select {
			case events <- e:
			case <-done:
				return
			}
		}
	}()
	defer func() {
		if a.relay != nil {
			_ = a.relay.endRelay()
		}
	}()
	refused := time.NewTicker(time.Second)
	defer refused.Stop()
	var kill <-chan time.Time
	for {
		select {
		case e := <-events:
			if ended, err := a.handleSupervisorMessage(ctx, e); ended != nil || err != nil {
				return ended, err
			}
		case err := <-failed:
			return nil, a.supervisorExitError(err)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-kill:
			return nil, fmt.Errorf("the program did not end within %s after the request", stopGrace)
		case <-refused.C:
			a.showWarnings()
			a.allowRequestedHost()
			a.noteHosts()
		case s := <-signals:
			if s == syscall.SIGWINCH {
				if a.relay != nil {
					a.relay.resizeTerminal(a.terminal)
				}
				continue
			}
			number, _ := s.(syscall.Signal)
			_ = a.socket.Send(wire.ControlMessage{Signal: int(number)}, nil)
			if kill == nil && number != syscall.SIGINT {
				kill = time.After(stopGrace)
			}
		}
	}
}

// supervisorMessage is a message of the supervisor, with the file that came with it.
type supervisorMessage struct {
	wire.SupervisorEvent
	file *os.File
}

// handleSupervisorMessage handles a message of the supervisor. It returns the outcome when the program has ended.
func (a *activeRun) handleSupervisorMessage(ctx context.Context, e supervisorMessage) (*wire.RunOutcome, error) {
	switch {
	case e.Failed != "":
		return nil, errors.New(e.Failed)
	case e.Hook != nil:
		a.asked.Add(1)
		go a.answerHook(ctx, e.Hook)
	case e.Ask != "":
		a.requestProtectedFile(ctx, e.Ask)
	case e.Ended != nil:
		return e.Ended, nil
	case e.Started && e.file != nil:
		a.relay = &terminalRelay{control: e.file}
		if a.leads[0] {
			a.relay.in = a.options.Streams[0]
		}
		for _, i := range []int{1, 2} {
			if a.leads[i] && a.relay.out == nil {
				a.relay.out = a.options.Streams[i]
			}
		}
		return nil, a.relay.startRelay()
	case e.Stopped && a.relay != nil:
		if err := a.relay.suspendSelf(a.terminal); err != nil {
			return nil, err
		}
		return nil, a.socket.Send(wire.ControlMessage{Continue: true}, nil)
	}
	return nil, nil
}

// allowRequestedHost allows the host that the operator requests with [AllowHost].
func (a *activeRun) allowRequestedHost() {
	path := allowRequestPath(a.options.Session.Policy().HomePath(), a.plan.id)
	if host, err := smallfile.Read(path, 1<<10); err == nil && a.running.AllowHost(string(host)) == nil {
		_ = os.Remove(path)
	}
}

// noteHosts saves the hosts that the program has reached or was refused since the last time. The next second tries again
// after a failure.
func (a *activeRun) noteHosts() {
	saved := *a.record
	saved.Reached, saved.Refused = a.running.Hosts()
	isNew := len(saved.Reached) > len(a.record.Reached) || len(saved.Refused) > len(a.record.Refused)
	if isNew && saved.saveRecord(a.options.Session.Policy().HomePath()) == nil {
		*a.record = saved
	}
}

// showWarnings shows refused connections and approval requests in the title of the person's window.
func (a *activeRun) showWarnings() {
	var warnings []string
	if waiting := a.requests.waitingNames(); len(waiting) > 0 {
		warnings = append(warnings, "asks for "+strings.Join(waiting, ", ")+", see picoclaw approvals")
	}
	if _, all := a.running.Hosts(); len(all) > 0 {
		warnings = append(warnings, fmt.Sprintf("refused %d: %s", len(all), strings.TrimPrefix(all[len(all)-1], "network: ")))
	}
	text := strings.Join(warnings, "; ")
	if a.relay == nil || text == a.shown {
		return
	}
	if a.shown = text; text != "" {
		text = cleanTitle(fmt.Sprintf("[picoclaw %s; run %s] ", text, a.plan.id))
	}
	a.relay.showWarningTitle(text)
}

// supervisorExitError returns the reason why the supervisor has ended unexpectedly.
func (a *activeRun) supervisorExitError(err error) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	exit, waitErr := a.running.Wait(ctx)
	switch {
	case waitErr != nil && ctx.Err() == nil:
		return waitErr
	case exit.Exceeded != "":
		return fmt.Errorf("the program was ended: it used %s", exit.Exceeded)
	}
	return fmt.Errorf("the supervisor ended unexpectedly: %s (%w)", exit, err)
}
