package session

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/host/egress"
	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/host/quota"
	"github.com/picoclaw/picoclaw/host/supervise"
	"github.com/picoclaw/picoclaw/internal/pausable"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// network is what the instances of one plugin with one policy reach by name, and who is told of it.
type network struct {
	policy    *egress.Policy
	secrets   []egress.Secret
	authority *egress.Authority // nil where no TLS is ended here
	name      string            // the same for what may share an instance
	log       reachedLog
	session   *Session // the first that has asked for it: its agent and origin are recorded

	mu    sync.Mutex
	calls []*reaching
}

// reaching is a call that runs, and what it was refused meanwhile.
type reaching struct {
	ctx     context.Context //nolint:containedctx // whose person is asked
	session *Session
	text    string // its arguments, in small letters
	refused []string

	asking sync.Mutex // one question at a time
	agreed map[string]bool
}

// giveNetwork gives a plugin its network by name, if the policy has one.
func (s *Session) giveNetwork(p *catalog.Plugin, spec *supervise.Spec, grants pluginpb.Grant) error {
	reached := s.policy.Network()
	if reached == nil && grants.Network && len(grants.Hosts) > 0 {
		if !s.policy.Isolation().Enabled {
			return fmt.Errorf("plugin %s is granted the network for %s alone, which only a sandbox keeps it to; set "+
				"isolation.enabled to true", spec.Manifest.ID, list(grants.Hosts))
		}
		reached = &policy.Network{Rules: egress.Rules{Allow: grants.Hosts}}
	}
	if reached == nil || !grants.Network {
		if len(grants.Secrets) > 0 && grants.Network && s.named(grants.Secrets) != "" {
			return fmt.Errorf("plugin %s may use the secret %s, which takes a network by name; set network.allow to the hosts "+
				"that its commands reach", spec.Manifest.ID, s.named(grants.Secrets))
		}
		return nil
	}
	n, err := s.host.networkOf(s, reached, spec.Manifest.ID, grants)
	if err != nil {
		return err
	}
	env, err := n.give(&spec.Profile)
	if err != nil {
		return err
	}
	spec.Env = append(spec.Env, env...)
	if grants.Exec {
		spec.Policy.Exec.Env = append(spec.Policy.Exec.Env, env...)
	}
	if s.networks == nil {
		s.networks = map[*catalog.Plugin]*network{}
	}
	s.networks[p] = n
	return nil
}

// give gives a sandbox the network, and returns the environment that belongs to it.
func (n *network) give(profile *isolation.Profile) (env []string, err error) {
	profile.Network = false
	profile.Proxied = &isolation.Proxied{Name: n.name, Ports: n.policy.AllowedPorts(), Serve: n.serve}
	env = slices.Clone(proxyEnvironment)
	if n.authority != nil {
		bundle, err := egress.CertBundle(n.authority)
		if err != nil {
			return nil, err
		}
		profile.Proxied.Certificates = bundle
		for _, name := range certificateVariables {
			env = append(env, name+"="+isolation.CertificatesPath)
		}
	}
	for _, secret := range n.secrets {
		env = append(env, secret.Name+"="+secret.Placeholder)
	}
	return env, nil
}

// network returns what a plugin's calls reach by name; nil where they don't.
func (s *Session) network(p *catalog.Plugin) *network {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.networks[p]
}

// named returns the first of the secrets that are granted and that there are; "" for none.
func (s *Session) named(granted []string) string {
	for name := range s.policy.Secrets() {
		if slices.Contains(granted, name) || slices.Contains(granted, pluginpb.AnySecret) {
			return name
		}
	}
	return ""
}

// proxyEnvironment tells programs of the proxy. What does not heed it gets there all the same: names lead to listeners
// in the sandbox.
var proxyEnvironment = []string{
	"HTTP_PROXY=http://" + isolation.ProxyAddress, "http_proxy=http://" + isolation.ProxyAddress,
	"HTTPS_PROXY=http://" + isolation.ProxyAddress, "https_proxy=http://" + isolation.ProxyAddress,
	"ALL_PROXY=http://" + isolation.ProxyAddress, "all_proxy=http://" + isolation.ProxyAddress,
	"NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1", "NODE_USE_ENV_PROXY=1",
}

// certificateVariables are those by which programs find whom to believe. Each names all: they replace the system's.
var certificateVariables = []string{
	"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO",
	"AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO", "DENO_CERT", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
	"CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", "NIX_SSL_CERT_FILE", "npm_config_cafile",
}

// networkOf returns the network of a plugin's instances, which are the same as long as the host lives.
func (h *Host) networkOf(s *Session, reached *policy.Network, plugin string, grants pluginpb.Grant) (*network, error) {
	key, err := json.Marshal([]any{s.policy.Digest(), plugin, grants.Hosts, grants.Secrets})
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%x", sha256.Sum256(key))[:16]
	runtime, err := h.ready()
	if err != nil {
		return nil, err
	}
	h.reached.Lock()
	defer h.reached.Unlock()
	if n := h.networks[name]; n != nil {
		return n, nil
	}
	n := &network{name: name, session: s, log: reachedLog{
		write: runtime.audit.write,
		fail:  func(err error) { h.logger.Error("what was reached could not be recorded", "error", err) },
	}}
	if n.policy, err = h.compiled(reached, s.policy.Workspace()); err != nil {
		return nil, err
	}
	if own := s.policy.PluginNetwork(plugin); own != nil {
		own.Hosts = reached.Hosts
		narrower, err := egress.Compile(own.Rules)
		if err != nil {
			return nil, fmt.Errorf("plugins.%s.%w", plugin, err)
		}
		n.policy = n.policy.Intersect(narrower)
	}
	if len(grants.Hosts) > 0 {
		// Addresses of names are said for all.
		granted, err := egress.Compile(egress.Rules{Allow: grants.Hosts, Hosts: reached.Hosts})
		if err != nil {
			return nil, fmt.Errorf("plugin %s asks for %w", plugin, err)
		}
		n.policy = n.policy.Intersect(granted)
	}
	if n.secrets, err = secretsOf(s.policy.Secrets(), grants.Secrets); err != nil {
		return nil, err
	}
	if len(n.secrets) > 0 || len(reached.Methods) > 0 {
		if h.authority == nil {
			if h.authority, err = egress.NewAuthority(); err != nil {
				return nil, err
			}
		}
		n.authority = h.authority
	}
	if h.networks == nil {
		h.networks = map[string]*network{}
	}
	h.networks[name] = n
	return n, nil
}

// compiled adds the hosts of programs to a network's rules, and makes a policy of them.
func (h *Host) compiled(n *policy.Network, workspace string) (*egress.Policy, error) {
	rules := n.Rules
	hosts, err := programHosts(n.From, workspace)
	if err != nil {
		return nil, err
	}
	rules.Allow = append(rules.Allow, hosts...)
	return egress.Compile(rules)
}

// ExplainHost says whether the agent's processes that have the network reach a host, with a port or on 443.
func (s *Session) ExplainHost(place string) (guard.Decision, error) {
	switch reached := s.policy.Network(); {
	case !s.policy.Isolation().Network:
		return guard.Decision{Verdict: guard.Deny, Rule: "isolation.network", Reason: "there is no network",
			Hint: "isolation.network: true gives it to plugins that are granted it"}, nil
	case reached == nil:
		return guard.Decision{Verdict: guard.Allow, Rule: "isolation.network",
			Reason: "no host is named, so processes with the network grant have the host's network"}, nil
	default:
		p, err := s.host.compiled(reached, s.policy.Workspace())
		if err != nil {
			return guard.Decision{}, err
		}
		name, port := place, uint16(443)
		if host, text, err := net.SplitHostPort(place); err == nil {
			number, err := strconv.ParseUint(text, 10, 16)
			if err != nil {
				return guard.Decision{}, fmt.Errorf("%q is no port; write one such as %s:443", text, host)
			}
			name, port = host, uint16(number)
		}
		d := p.Decide(strings.Trim(name, "[]"), port)
		verdicts := map[egress.Verdict]guard.Verdict{egress.Allow: guard.Allow, egress.Ask: guard.Ask, egress.Deny: guard.Deny}
		out := guard.Decision{Verdict: verdicts[d.Verdict], Rule: cmp.Or(d.Rule, "network.allow"), Reason: d.Reason}
		if d.Verdict == egress.Allow {
			out.Reason = fmt.Sprintf("%q allows it", d.Entry)
		}
		return out, nil
	}
}

// serve serves the listeners of one sandbox.
func (n *network) serve(l isolation.Listeners) (end func()) {
	proxy, err := egress.New(egress.Options{
		Policy: n.policy, Secrets: n.secrets, Authority: n.authority, Report: n.report, Ask: n.ask,
		Connections: min(mostConnections, l.Room),
	})
	if err != nil {
		n.session.host.logger.Error("the network of a plugin can't be served", "error", err)
		l.Close()
		return func() {}
	}
	proxy.Serve(egress.Listeners{Proxy: l.Proxy, Web: l.Ports, Names: l.Names})
	return func() { _ = proxy.Close() }
}

// report tells the call whose connection was refused, and records what was reached.
func (n *network) report(e egress.Event) {
	n.mu.Lock()
	calls := n.callsNaming(e.Host)
	switch {
	case e.Decision.Verdict != egress.Allow:
		tell(calls, e.Decision.Reason)
	case e.FailedInProxy():
		tell(calls, e.Err)
	}
	n.mu.Unlock()
	s := n.session
	for i, c := range calls {
		if i == 0 {
			s = c.session
		} else if s != c.session {
			s = n.session // that of one of several is not known
			break
		}
	}
	args := map[string]any{"host": e.Host, "port": int(e.Port), "sent": e.Sent, "received": e.Received}
	if e.Method != "" {
		args["method"] = e.Method
	}
	n.log.note(audit.Record{
		Time: e.Time.UTC(), Agent: s.policy.Agent(), Session: s.id, Origin: string(s.origin), Tool: "network", Args: args,
		Decision: string(e.Decision.Verdict), Rule: cmp.Or(e.Decision.Rule, "network.allow"),
		Millis: float64(e.Duration.Microseconds()) / 1000, Error: e.Err,
	}, e)
}

// callsNaming returns the running calls that a connection to a host may belong to: those with the host in their
// arguments, or else all. A sandbox has one network for all its commands, so no connection says whose it is. n.mu is
// held.
func (n *network) callsNaming(host string) []*reaching {
	if len(n.calls) < 2 || host == "" {
		return slices.Clone(n.calls)
	}
	word := regexp.MustCompile(`(?:^|[^a-z0-9.-])` + regexp.QuoteMeta(strings.ToLower(host)) + `\.?(?:$|[^a-z0-9.-])`)
	var naming []*reaching
	for _, c := range n.calls {
		if word.MatchString(c.text) {
			naming = append(naming, c)
		}
	}
	if naming == nil {
		return slices.Clone(n.calls)
	}
	return naming
}

// tell adds a reason to what calls were refused. Where there are several it says so.
func tell(calls []*reaching, reason string) {
	if len(calls) > 1 {
		reason += "; for this call or another that ran at the same time"
	}
	for _, c := range calls {
		switch known := slices.Contains(c.refused, reason); {
		case known || len(c.refused) > mostRefused:
		case len(c.refused) == mostRefused:
			c.refused = append(c.refused, "network: refused more; `picoclaw audit` has all of it")
		default:
			c.refused = append(c.refused, reason)
		}
	}
}

// mostConnections is how many connections one sandbox may have open at a time.
const mostConnections = 512

// mostRefused is how many refusals the result of one call names.
const mostRefused = 10

// ask has a person decide on a host: one who is behind a call that runs.
func (n *network) ask(ctx context.Context, host string, port uint16) bool {
	n.mu.Lock()
	calls := n.callsNaming(host)
	n.mu.Unlock()
	for _, c := range calls {
		if c.session.canAsk(c.ctx) {
			return c.ask(ctx, host, port, &n.log)
		}
	}
	return false
}

// ask asks until the call or the connection ends, and records who has answered. A connection that ends decides nothing.
func (c *reaching) ask(connection context.Context, host string, port uint16, log *reachedLog) bool {
	c.asking.Lock()
	defer c.asking.Unlock()
	key := fmt.Sprintf("%s:%d", host, port)
	if yes, known := c.agreed[key]; known {
		return yes
	}
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	defer context.AfterFunc(connection, cancel)()
	defer pausable.Pause(c.ctx)()
	defer quota.Pause(c.ctx)()
	began, args := time.Now(), map[string]any{"host": host, "port": int(port)}
	consent := c.session.requestApproval(ctx, Question{
		Tool: "network", Args: args,
		Decision: guard.Decision{Verdict: guard.Ask, Rule: "network.ask", Reason: "the command wants to reach " + key,
			Setting: "take it out of network.ask, and add " + strconv.Quote(key) + " to network.allow"},
	})
	if connection.Err() == nil {
		c.agreed[key] = consent.allowed
	}
	if consent.by != nil {
		s := c.session
		log.put(audit.Record{
			Time: began.UTC(), Agent: s.policy.Agent(), Session: s.id, Parent: s.parent, Origin: string(s.origin), Tool: "network",
			Args: args, Decision: guard.Ask.String(), Answer: yesOrNo(consent.allowed), Approval: consent.by, Rule: "network.ask",
			Millis: float64(time.Since(began).Microseconds()) / 1000,
		})
	}
	return consent.allowed
}

// watchCall registers a call, so that connections refused while it runs are reported in its result.
func (n *network) watchCall(ctx context.Context, s *Session, arguments []byte) *reaching {
	if n == nil {
		return nil
	}
	c := &reaching{ctx: ctx, session: s, text: strings.ToLower(string(arguments)), agreed: map[string]bool{}}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls = append(n.calls, c)
	return c
}

// endWatch returns the connections refused during a call.
func (n *network) endWatch(c *reaching) []string {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls = slices.DeleteFunc(n.calls, func(other *reaching) bool { return other == c })
	return c.refused
}
