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
)

// stopGrace is how long a program may take to end after a signal for it.
const stopGrace = 5 * time.Second

// follow hands the start over, and serves the program until it ends.
func (a *attempt) follow(ctx context.Context, start wire.Start) (*wire.Ended, error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGWINCH, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT)
	defer signal.Stop(signals)
	if err := a.socket.Send(start, nil); err != nil {
		return nil, a.startError(err)
	}
	events, failed := make(chan event), make(chan error, 1)
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			var e event
			var err error
			if e.file, err = a.socket.Receive(&e.Event); err != nil {
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
			_ = a.relay.end()
		}
	}()
	refused := time.NewTicker(time.Second)
	defer refused.Stop()
	var kill <-chan time.Time
	for {
		select {
		case e := <-events:
			if ended, err := a.handle(ctx, e); ended != nil || err != nil {
				return ended, err
			}
		case err := <-failed:
			return nil, a.startError(err)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-kill:
			return nil, fmt.Errorf("the program did not end %s after it was asked to", stopGrace)
		case <-refused.C:
			a.showRefusals()
		case s := <-signals:
			if s == syscall.SIGWINCH {
				if a.relay != nil {
					a.relay.resize(a.terminal)
				}
				continue
			}
			number, _ := s.(syscall.Signal)
			_ = a.socket.Send(wire.Control{Signal: int(number)}, nil)
			if kill == nil && number != syscall.SIGINT {
				kill = time.After(stopGrace)
			}
		}
	}
}

type event struct {
	wire.Event
	file *os.File
}

// handle handles a message of the supervisor.
func (a *attempt) handle(ctx context.Context, e event) (*wire.Ended, error) {
	switch {
	case e.Failed != "":
		return nil, errors.New(e.Failed)
	case e.Hook != nil:
		a.asked.Add(1)
		go a.answerHook(ctx, e.Hook)
	case e.Ended != nil:
		return e.Ended, nil
	case e.Started && e.file != nil:
		a.relay = &relay{control: e.file}
		if a.isTerminal(0) {
			a.relay.in = a.options.Streams[0]
		}
		for _, i := range []int{1, 2} {
			if a.isTerminal(i) && a.relay.out == nil {
				a.relay.out = a.options.Streams[i]
			}
		}
		return nil, a.relay.start()
	case e.Stopped && a.relay != nil:
		if err := a.relay.suspend(a.terminal); err != nil {
			return nil, err
		}
		return nil, a.socket.Send(wire.Control{Continue: true}, nil)
	}
	return nil, nil
}

func (a *attempt) isTerminal(i int) bool {
	_, leads := terminalOf(a.options.Streams)
	return leads[i]
}

// showRefusals shows the number of refused connections in the title of the window.
func (a *attempt) showRefusals() {
	all := a.running.RefusedConnections()
	if a.relay == nil || len(all) == a.shown {
		return
	}
	a.shown = len(all)
	a.relay.warn(fmt.Sprintf("[picoclaw refused %d: %s] ", len(all), strings.TrimPrefix(all[len(all)-1], "network: ")))
}

// startError returns why the supervisor is gone.
func (a *attempt) startError(err error) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	exit, waitErr := a.running.Wait(ctx)
	switch {
	case waitErr != nil && ctx.Err() == nil:
		return waitErr
	case exit.Exceeded != "":
		return fmt.Errorf("the program was ended: it used %s; agents.defaults.run.limits sets its limits", exit.Exceeded)
	}
	return fmt.Errorf("the supervisor ended unexpectedly: %s (%w)", exit, err)
}
