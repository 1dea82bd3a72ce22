package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk"
)

// mostSessions is how many background commands there may be at a time, ended ones included.
const mostSessions = 16

// sessions are the background commands of this process, which serves one agent.
type sessions struct {
	mu   sync.Mutex
	last int
	all  map[string]*session
}

// session is a background command.
type session struct {
	*running
	id      string
	number  int
	command string
	over    chan struct{} // closed when it has ended and all its output is here

	mu   sync.Mutex
	exit *isolation.Exit // nil while it runs
	why  string          // why it was ended, if it did not end by itself
}

// background starts a command and returns at once.
func background(l *isolation.Isolation, s *sessions, req *sdk.Request[execInput]) (execOutput, error) {
	if err := s.room(); err != nil {
		return execOutput{}, err
	}
	r, err := start(l, &req.Environment, wanted{execInput: req.Args, input: true})
	if err != nil {
		return execOutput{}, err
	}
	one := s.add(r, req.Args.Command)
	go one.watch(time.Duration(req.Args.Timeout) * time.Second)
	return execOutput{
		Session: one.id,
		combined: fmt.Sprintf("started in the background as %s; process with action=poll and session=%s shows its output",
			one.id, one.id),
	}, nil
}

// watch waits for the end of a command, and brings it about if its time is over.
func (s *session) watch(limit time.Duration) {
	if limit > 0 {
		timer := time.AfterFunc(limit, func() { s.stop(fmt.Sprintf("timed out after %s", limit)) })
		defer timer.Stop()
	}
	exit, err := s.process.Wait(context.Background())
	s.finished()
	defer close(s.over)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.exit = &exit; err != nil {
		s.why = err.Error()
	}
	s.spool.wake()
}

// stop ends a command: SIGTERM, and SIGKILL to what is left.
func (s *session) stop(why string) {
	s.mu.Lock()
	if s.exit == nil && s.why == "" {
		s.why = why
	}
	s.mu.Unlock()
	_, _ = s.process.Stop(context.Background(), endGrace)
}

// ended returns how a command ended, nil while it runs.
func (s *session) ended() (exit *isolation.Exit, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exit, s.why
}

// room makes room for one more, at the cost of the oldest that has ended.
func (s *sessions) room() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) < mostSessions {
		return nil
	}
	for _, one := range s.sorted() {
		if exit, _ := one.ended(); exit != nil {
			one.close()
			delete(s.all, one.id)
			return nil
		}
	}
	return sdk.Errorf(sdk.Conflict, "%d background commands are running, which is the most there may be", mostSessions).
		WithHint("end one with process and action=kill")
}

func (s *sessions) add(r *running, command string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string]*session{}
	}
	s.last++
	one := &session{running: r, id: fmt.Sprintf("s%d", s.last), number: s.last, command: command, over: make(chan struct{})}
	s.all[one.id] = one
	return one
}

// sorted returns the sessions, the oldest first. The caller holds the lock.
func (s *sessions) sorted() []*session {
	all := make([]*session, 0, len(s.all))
	for _, one := range s.all {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b *session) int { return cmp.Compare(a.number, b.number) })
	return all
}

// find returns a session by its name.
func (s *sessions) find(id string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.all[id]; one != nil {
		return one, nil
	}
	var names []string
	for _, one := range s.sorted() {
		names = append(names, one.id)
	}
	e := sdk.Errorf(sdk.NotFound, "there is no background command %q", id)
	if len(names) == 0 {
		return nil, e.WithHint("there is none at all; exec with background=true starts one")
	}
	return nil, e.WithHint("there are %s", strings.Join(names, ", "))
}

// stopAll ends the commands that are left when the plugin ends.
func stopAll(l *isolation.Isolation) func(context.Context) {
	return func(context.Context) { _ = l.Close() }
}
