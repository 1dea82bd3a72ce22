package session

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/egress"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

const (
	portRetry = time.Second    // between two tries to get a port that another program has
	portIdle  = 24 * time.Hour // without a byte in either direction, such as of a page that waits for changes
)

// publishPorts listens at the network's ports on 127.0.0.1, and connects clients to servers at the same ports in the
// sandbox. The returned function ends that, and closes the connections.
func (n *sandboxNetwork) publishPorts(dial func(port uint16) (net.Conn, error)) (end func()) {
	var serving sync.WaitGroup
	ended := make(chan struct{})
	for _, port := range n.ports {
		serving.Go(func() { n.publishPort(port, dial, ended) })
	}
	return func() {
		close(ended)
		serving.Wait()
	}
}

// PublishedPorts returns the agents and addresses of servers in sandboxes that this machine reaches, as "main
// 127.0.0.1:8123", sorted.
func (h *Host) PublishedPorts() (all []string) {
	h.networkMu.Lock()
	defer h.networkMu.Unlock()
	for _, n := range h.networks {
		n.mu.Lock()
		for _, port := range n.published {
			all = append(all, fmt.Sprintf("%s 127.0.0.1:%d", n.session.policy.AgentID(), port))
		}
		n.mu.Unlock()
	}
	slices.Sort(all)
	return all
}

func (n *sandboxNetwork) publishPort(port uint16, dial func(uint16) (net.Conn, error), ended <-chan struct{}) {
	var listener net.Listener
	for failed := false; listener == nil; {
		var err error
		if listener, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port)))); err == nil {
			break
		}
		if !failed { // once, and the port is used when it is free
			failed = true
			n.logPublishedPort(port, err)
			reason := fmt.Sprintf("network: can't listen at 127.0.0.1:%d of this machine: %v; setting network.ports", port, errors.Unwrap(err))
			n.mu.Lock()
			if addRefusalToCalls(n.calls, reason); len(n.calls) == 0 {
				n.untold = append(n.untold, reason)
			}
			n.mu.Unlock()
		}
		select {
		case <-ended:
			return
		case <-time.After(portRetry):
		}
	}
	n.logPublishedPort(port, nil)
	n.mu.Lock()
	n.published = append(n.published, port)
	n.mu.Unlock()
	var relays sync.WaitGroup
	relays.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			relays.Go(func() { relayToSandbox(client, port, dial, ended) })
		}
	})
	<-ended
	_ = listener.Close()
	relays.Wait()
	n.mu.Lock()
	n.published = slices.DeleteFunc(n.published, func(one uint16) bool { return one == port })
	n.mu.Unlock()
}

// logPublishedPort writes an audit entry of a port that is reachable from now on, or can't be made so.
func (n *sandboxNetwork) logPublishedPort(port uint16, failure error) {
	s := n.session
	entry := audit.Record{Time: time.Now().UTC(), Agent: s.policy.AgentID(), Session: s.id, Origin: string(s.origin), Tool: "network",
		Args: map[string]any{"listen": fmt.Sprintf("127.0.0.1:%d", port)}, Decision: guard.Allow.String(), Rule: "network.ports"}
	if failure != nil {
		entry.Error = failure.Error()
	}
	if err := n.log.write(entry); err != nil {
		n.log.fail(err)
	}
}

// relayToSandbox connects a client to a server in the sandbox until both have ended or ended is closed.
func relayToSandbox(client net.Conn, port uint16, dial func(uint16) (net.Conn, error), ended <-chan struct{}) {
	defer func() { _ = client.Close() }()
	server, err := dial(port)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-ended:
			_, _ = client.Close(), server.Close()
		case <-done:
		}
	}()
	_, _, _ = egress.CopyBothWays(client, server, portIdle)
}
