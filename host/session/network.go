package session

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
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

// sandboxNetwork is the network of a plugin's instances under one policy. It tells each call which of its connections
// were refused.
type sandboxNetwork struct {
	policy    *egress.Policy
	secrets   []egress.Secret
	authority *egress.CertificateAuthority // nil if TLS is not terminated here
	ports     []uint16                     // of servers that this machine reaches
	name      string                       // equal for networks whose plugins may share an instance
	log       connectionLog
	session   *Session // the first to use it; its agent and origin are logged

	mu        sync.Mutex
	calls     []*networkWatchedCall
	published []uint16 // the ports that are open
	untold    []string // refusals for the next call
}

// networkWatchedCall is a running call. It receives the refused connections of its plugin's sandbox.
type networkWatchedCall struct {
	ctx     context.Context //nolint:containedctx // for approval questions
	session *Session
	text    string // its arguments in lower case
	reached []string
	refused []string

	askMu   sync.Mutex // one question at a time
	answers map[string]bool
}

func (s *Session) attachNetwork(p *catalog.Plugin, spec *supervise.InstanceSpec, grants pluginpb.Grant) error {
	reached := s.policy.NetworkRules()
	if reached == nil && grants.Network && len(grants.Hosts) > 0 {
		if !s.policy.IsolationOptions().Enabled {
			return fmt.Errorf("plugin %s is granted only the hosts %s, which only a sandbox can enforce; set "+
				"isolation.enabled to true", spec.Manifest.ID, joinWithCommas(grants.Hosts))
		}
		reached = &policy.NetworkRules{PolicyRules: egress.PolicyRules{Allow: grants.Hosts}}
	}
	if reached == nil || !grants.Network {
		if name := s.findConfiguredSecretName(grants.Secrets); grants.Network && name != "" {
			return fmt.Errorf("plugin %s may use the secret %s, which takes a network by name; set network.allow to the hosts "+
				"that its commands reach", spec.Manifest.ID, name)
		}
		return nil
	}
	var ports []uint16
	if grants.Exec {
		ports = s.policy.PublishedPorts()
	}
	n, err := s.host.openSharedNetwork(s, reached, spec.Manifest.ID, grants, ports)
	if err != nil {
		return err
	}
	env, err := n.attachToProfile(&spec.Profile)
	if err != nil {
		return err
	}
	spec.Env = append(spec.Env, env...)
	if grants.Exec {
		spec.Policy.Exec.Env = append(spec.Policy.Exec.Env, env...)
	}
	s.networks[p] = n
	return nil
}

// attachToProfile adds the network's proxy to a sandbox profile, and returns the proxy variables of the environment.
func (n *sandboxNetwork) attachToProfile(profile *isolation.Profile) (env []string, err error) {
	profile.Network = false
	profile.Proxied = &isolation.ProxiedNetwork{Name: n.name, Ports: n.policy.AllowedPorts(), Dials: len(n.ports) > 0,
		Serve: n.serveSandboxListeners}
	env = slices.Clone(proxyEnvironment)
	if n.authority != nil {
		bundle, err := egress.TrustedCertBundle(n.authority)
		if err != nil {
			return nil, err
		}
		profile.Proxied.Certificates = bundle
		for _, name := range certificateVariables {
			env = append(env, name+"="+isolation.CertificatesPath)
		}
	}
	for _, secret := range n.secrets {
		if secret.Fetch == nil {
			env = append(env, secret.Name+"="+secret.Placeholder)
		}
	}
	return env, nil
}

// networkOfPlugin returns the network that the session uses for a plugin; nil without network rules.
func (s *Session) networkOfPlugin(p *catalog.Plugin) *sandboxNetwork {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.networks[p]
}

// findConfiguredSecretName returns the first name, in sorted order, of a secret that is granted and configured; "" if
// there is none.
func (s *Session) findConfiguredSecretName(granted []string) string {
	for _, name := range slices.Sorted(maps.Keys(s.policy.Secrets())) {
		if slices.Contains(granted, name) || slices.Contains(granted, pluginpb.AnySecret) {
			return name
		}
	}
	return ""
}

// proxyEnvironment are the variables that point programs to the proxy. Programs that ignore them reach the proxy too:
// in the sandbox, host names resolve to the proxy's listeners.
var proxyEnvironment = []string{
	"HTTP_PROXY=http://" + isolation.ProxyAddress, "http_proxy=http://" + isolation.ProxyAddress,
	"HTTPS_PROXY=http://" + isolation.ProxyAddress, "https_proxy=http://" + isolation.ProxyAddress,
	"ALL_PROXY=http://" + isolation.ProxyAddress, "all_proxy=http://" + isolation.ProxyAddress,
	"NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1", "NODE_USE_ENV_PROXY=1",
}

// certificateVariables are the variables in which programs expect the file of trusted CA certificates. Each file
// replaces the system's certificates.
var certificateVariables = []string{
	"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO",
	"AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO", "DENO_CERT", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
	"CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", "NIX_SSL_CERT_FILE", "npm_config_cafile",
}

// openSharedNetwork returns the network that a plugin has under equal policies. It creates it on first use.
func (h *Host) openSharedNetwork(s *Session, reached *policy.NetworkRules, plugin string, grants pluginpb.Grant,
	ports []uint16,
) (*sandboxNetwork, error) {
	key, err := json.Marshal([]any{s.policy.Digest(), plugin, grants.Hosts, grants.Secrets})
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%x", sha256.Sum256(key))[:16]
	runtime, err := h.initRuntime()
	if err != nil {
		return nil, err
	}
	h.networkMu.Lock()
	defer h.networkMu.Unlock()
	if n := h.networks[name]; n != nil {
		return n, nil
	}
	slices.Sort(ports)
	ports = slices.Compact(ports)
	n := &sandboxNetwork{name: name, session: s, ports: ports, log: connectionLog{
		write: runtime.audit.writeEntry,
		fail:  func(err error) { h.logger.Error("network access could not be logged", "error", err) },
	}}
	if n.policy, err = h.compileNetworkPolicy(reached, s.policy.WorkspacePath()); err != nil {
		return nil, err
	}
	if own := s.policy.PluginNetworkRules(plugin); own != nil {
		own.Hosts = reached.Hosts
		narrower, compileErr := egress.CompilePolicy(own.PolicyRules)
		if compileErr != nil {
			return nil, fmt.Errorf("plugins.%s.%w", plugin, compileErr)
		}
		n.policy = n.policy.Intersect(narrower)
	}
	if len(grants.Hosts) > 0 {
		// Name addresses are shared by all networks.
		granted, compileErr := egress.CompilePolicy(egress.PolicyRules{Allow: grants.Hosts, Hosts: reached.Hosts})
		if compileErr != nil {
			return nil, fmt.Errorf("plugin %s asks for %w", plugin, compileErr)
		}
		n.policy = n.policy.Intersect(granted)
	}
	if n.secrets, err = s.fetchNetworkSecrets(grants.Secrets, plugin); err != nil {
		return nil, err
	}
	if len(n.secrets) > 0 || n.policy.RestrictsRequests() {
		if h.authority == nil {
			if h.authority, err = egress.NewCertificateAuthority(); err != nil {
				return nil, err
			}
		}
		n.authority = h.authority
	}
	h.networks[name] = n
	return n, nil
}

// compileNetworkPolicy compiles network rules, with the hosts in the settings of the programs in network.from.
func (h *Host) compileNetworkPolicy(n *policy.NetworkRules, workspace string) (*egress.Policy, error) {
	rules := n.PolicyRules
	hosts, err := configuredProgramHosts(n.From, workspace)
	if err != nil {
		return nil, err
	}
	rules.Allow = append(rules.Allow, hosts...)
	all, err := egress.CompilePolicy(rules)
	if err != nil || n.Project == nil {
		return all, err
	}
	project := n.Project.PolicyRules
	project.Hosts = rules.Hosts
	if project.Allow == nil {
		project.Allow = slices.Concat(rules.Allow, rules.Ask)
	}
	narrower, err := egress.CompilePolicy(project)
	return all.Intersect(narrower), err
}

func (n *sandboxNetwork) serveSandboxListeners(l isolation.NetworkListeners) (end func()) {
	proxy, err := egress.NewProxy(egress.ProxyOptions{
		Policy: n.policy, Secrets: n.secrets, Authority: n.authority, Report: n.reportConnection,
		Connected: n.noteReachedHost, Ask: n.askPersonAboutHost,
		Connections: min(maxConnections, l.Room), NameAddresses: netip.MustParsePrefix(isolation.NameAddresses),
	})
	if err != nil {
		n.session.host.logger.Error("the network of a plugin can't be served", "error", err)
		l.Close()
		return func() {}
	}
	proxy.StartServing(egress.Listeners{Proxy: l.Proxy, Web: l.Ports, Names: l.Names})
	unpublish := n.publishPorts(l.Dial)
	return func() {
		unpublish()
		_ = proxy.Close()
	}
}

// noteReachedHost adds a host to the running calls that may have connected to it.
func (n *sandboxNetwork) noteReachedHost(host string, port uint16) {
	n.mu.Lock()
	defer n.mu.Unlock()
	entry := egress.FormatAllowEntry(host, port)
	for _, c := range n.callsNamingHost(host) {
		if len(c.reached) < maxTalliedHosts && !slices.Contains(c.reached, entry) {
			c.reached = append(c.reached, entry)
		}
	}
}

// reportConnection logs a connection, and adds a refused connection to the results of the calls it may belong to.
func (n *sandboxNetwork) reportConnection(e egress.ConnectionEvent) {
	n.mu.Lock()
	calls := n.callsNamingHost(e.Host)
	switch {
	case e.Decision.Verdict != egress.Allow:
		addRefusalToCalls(calls, e.Decision.Reason)
	case e.FailedInProxy():
		addRefusalToCalls(calls, e.Err)
	}
	n.mu.Unlock()
	s := n.session
	if len(calls) > 0 && !slices.ContainsFunc(calls, func(c *networkWatchedCall) bool { return c.session != calls[0].session }) {
		s = calls[0].session
	}
	args := map[string]any{"host": e.Host, "port": int(e.Port), "sent": e.Sent, "received": e.Received}
	if e.Method != "" {
		args["method"] = e.Method
	}
	n.log.logConnection(audit.Record{
		Time: e.Time.UTC(), Agent: s.policy.AgentID(), Session: s.id, Origin: string(s.origin), Tool: "network", Args: args,
		Decision: string(e.Decision.Verdict), Rule: cmp.Or(e.Decision.Rule, "network.allow"),
		Millis: float64(e.Duration.Microseconds()) / 1000, Error: e.Err,
	}, e)
}

// callsNamingHost returns the running calls with a host in their arguments; all running calls if there are none. All
// commands of a sandbox share one network, so the calls of a connection can only be guessed. The caller holds n.mu.
func (n *sandboxNetwork) callsNamingHost(host string) []*networkWatchedCall {
	if len(n.calls) < 2 || host == "" {
		return slices.Clone(n.calls)
	}
	word := regexp.MustCompile(`(?:^|[^a-z0-9.-])` + regexp.QuoteMeta(strings.ToLower(host)) + `\.?(?:$|[^a-z0-9.-])`)
	var naming []*networkWatchedCall
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

// addRefusalToCalls adds the reason of a refused connection to calls. With several calls, it adds that the connection
// may belong to another one.
func addRefusalToCalls(calls []*networkWatchedCall, reason string) {
	if len(calls) > 1 {
		reason += "; for this call or another that ran at the same time"
	}
	for _, c := range calls {
		switch known := slices.Contains(c.refused, reason); {
		case known || len(c.refused) > maxRefusals:
		case len(c.refused) == maxRefusals:
			c.refused = append(c.refused, "network: refused more; `picoclaw audit` has all of it")
		default:
			c.refused = append(c.refused, reason)
		}
	}
}

// maxConnections limits the open connections of one sandbox.
const maxConnections = 512

// maxRefusals limits the refusals listed in one call's result.
const maxRefusals = 10

// askPersonAboutHost asks a person whether the running calls may connect to a host.
func (n *sandboxNetwork) askPersonAboutHost(ctx context.Context, host string, port uint16) bool {
	n.mu.Lock()
	calls := n.callsNamingHost(host)
	n.mu.Unlock()
	for _, c := range calls {
		if ApprovalAskerOf(c.ctx) != nil || c.session.canWaitForApproval() {
			return c.askPersonAboutHost(ctx, host, port, &n.log)
		}
	}
	return false
}

// askPersonAboutHost asks a person whether the call may connect to a host, and logs the answer. Without an answer
// before the call or the connection ends, it logs nothing.
func (c *networkWatchedCall) askPersonAboutHost(connection context.Context, host string, port uint16, log *connectionLog) bool {
	c.askMu.Lock()
	defer c.askMu.Unlock()
	key := fmt.Sprintf("%s:%d", host, port)
	if yes, known := c.answers[key]; known {
		return yes
	}
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	defer context.AfterFunc(connection, cancel)()
	defer pausable.Pause(c.ctx)()
	defer quota.PauseSlot(c.ctx)()
	began, args := time.Now(), map[string]any{"host": host, "port": int(port)}
	consent := c.session.requestApproval(ctx, ApprovalQuestion{
		Tool: "network", Args: args,
		Decision: guard.Decision{Verdict: guard.Ask, Rule: "network.ask", Reason: "the command wants to reach " + key,
			Setting: "take it out of network.ask, and add " + strconv.Quote(key) + " to network.allow"},
	})
	if connection.Err() == nil {
		c.answers[key] = consent.allowed
	}
	if consent.approval != nil {
		s := c.session
		log.writeEntry(audit.Record{
			Time: began.UTC(), Agent: s.policy.AgentID(), Session: s.id, Parent: s.parent, Origin: string(s.origin), Tool: "network",
			Args: args, Decision: guard.Ask.String(), Answer: approvalAnswerWord(consent.allowed), Approval: consent.approval, Rule: "network.ask",
			Millis: float64(time.Since(began).Microseconds()) / 1000,
		})
	}
	return consent.allowed
}

// watchCall registers a call, so that connections refused while it runs are reported in its result.
func (n *sandboxNetwork) watchCall(ctx context.Context, s *Session, arguments []byte) *networkWatchedCall {
	if n == nil {
		return nil
	}
	c := &networkWatchedCall{ctx: ctx, session: s, text: strings.ToLower(string(arguments)), answers: map[string]bool{}}
	n.mu.Lock()
	defer n.mu.Unlock()
	c.refused, n.untold = n.untold, nil
	n.calls = append(n.calls, c)
	return c
}

// endCallWatch unregisters a call and returns the reasons of its refused connections.
func (n *sandboxNetwork) endCallWatch(c *networkWatchedCall) []string {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls = slices.DeleteFunc(n.calls, func(other *networkWatchedCall) bool { return other == c })
	return c.refused
}
