package mcp

import (
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// minSessionIdle is the time without requests after which a session may be ended to make room for a new one.
const minSessionIdle = time.Minute

// sessionActivity is the use of an HTTP session by its client.
type sessionActivity struct {
	requests int       // in progress, including streams that the client listens to
	last     time.Time // begin or end of the latest request
}

// addInFlightRequests adds n to a session's requests in progress. It ignores an empty id.
func (h *sessionLimiter) addInFlightRequests(id string, n int) {
	if id == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.uses == nil || len(h.uses) > 2*h.maxSessions { // clients may send any id
		h.pruneEndedSessions()
	}
	h.uses[id] = sessionActivity{h.uses[id].requests + n, time.Now()}
}

// pruneEndedSessions forgets sessions that have ended. The caller holds mu.
func (h *sessionLimiter) pruneEndedSessions() {
	all := h.uses
	h.uses = make(map[string]sessionActivity)
	for s := range h.server.Sessions() {
		if use, ok := all[s.ID()]; ok {
			h.uses[s.ID()] = use
		}
	}
}

// reserveSession reserves room for a session or subscription, and reports whether there is room. If there is none, it
// ends the session that has been idle longest. The caller calls releaseReservation when the session exists or has
// failed, or the subscription has ended.
func (h *sessionLimiter) reserveSession() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.reserved+h.server.CountHTTPSessions() >= h.maxSessions && !h.endIdleSession() {
		return false
	}
	h.reserved++
	return true
}

// endIdleSession ends the session that has been idle longest, and reports whether there was one. The caller holds mu.
func (h *sessionLimiter) endIdleSession() bool {
	var idle *mcp.ServerSession
	for s := range h.server.Sessions() {
		use, ok := h.uses[s.ID()]
		if ok && use.requests == 0 && time.Since(use.last) >= minSessionIdle &&
			(idle == nil || use.last.Before(h.uses[idle.ID()].last)) {
			idle = s
		}
	}
	if idle == nil {
		return false
	}
	h.server.clients.cancelSessionCalls(idle.ID()) // otherwise ending the session would wait for its calls
	_ = idle.Close()                               // the connection may be closed already
	return true
}

func (h *sessionLimiter) releaseReservation() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reserved--
}
