package fleet

import (
	"slices"
	"sync"

	"github.com/picoclaw/picoclaw/host/session"
)

// generation is a host, from when its configuration was read until nothing runs on it any more.
type generation struct {
	host  Host
	users sync.WaitGroup
}

// openSession is a session of a generation's host.
type openSession struct {
	session *session.Session
	of      *generation
}

// Renew has calls that begin from now on made on another host, and the worker serve these agents: an agent that is not
// among them is given away. What is returned waits until nothing runs on the host before any more, which then may be
// closed.
func (w *Worker) Renew(h Host, agents []string) (ended func()) {
	w.mu.Lock()
	before := w.current
	w.current, w.agents = &generation{host: h}, agents
	w.mu.Unlock()
	w.tellChanged()
	return before.users.Wait
}

// SetConfig has others know which of the fleet's configurations the worker has, and why it has not taken the last one;
// nil if it has.
func (w *Worker) SetConfig(serial uint64, fault error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = ""
	if fault == nil {
		w.config = serial
	} else {
		w.fault = fault.Error()
		w.fault = w.fault[:min(len(w.fault), mostWhy)]
	}
}

// idle reports whether the worker has no agent, and would take one.
func (w *Worker) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.served) == 0 && !w.drained
}

// wanted are the agents that the worker is to have, and has those given away that it is not.
func (w *Worker) wanted(l *life) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for agent, s := range w.served {
		if (w.drained || !slices.Contains(w.agents, agent)) && !w.busy[agent] {
			w.begin(l, agent, s.release)
		}
	}
	agents := w.agents
	if w.drained {
		agents = nil
	}
	for agent, m := range w.moves { // what was sent is seen to, whoever is to have the agent now
		if (m.State == handed || m.State == removing) && !slices.Contains(agents, agent) {
			agents = append(slices.Clip(agents), agent)
		}
	}
	return agents
}
