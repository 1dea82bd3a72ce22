// Package host ties picoclaw together: configuration, policy, plugins and the audit log, behind one way in.
//
// A [Host] owns them. A [Session] is one path on which an agent uses the host, and [Session.Call] is the only way to a
// tool, whoever calls: the command line, an MCP client, a scheduled task, a subagent. On it a call is decoded once,
// guarded, handed to its plugin, bounded and recorded.
//
// A plugin with the state grant has a directory of its own for each agent, <home>/state/<plugin>/<agent>. It is the one
// place in the instance root that a sandbox can write to, and no two agents share an instance that has one.
//
// The packages below know one concern each: config reads the configuration, policy resolves it for an agent, catalog
// knows the installed plugins, supervise runs them, audit records, mcp speaks the Model Context Protocol. The root
// package must not know how any of them does it, nor who shows the results to whom.
package host
