package config

// keys is the one table that everything about keys is made from; see [Schema]. An agent's own versions of the keys
// marked PerAgent are added by schema.
var keys = []Key{
	{Name: "agents.defaults.workspace", Type: String, Format: Path, Default: "<home>/workspace", PerAgent: true,
		Doc: "Directory that the agent works in, absolute or starting with ~. Agents other than the first have <home>/workspace-<id> unless they set their own."},
	{Name: "agents.defaults.restrict_to_workspace", Type: Bool, Default: true, PerAgent: true,
		Doc: "Confines files and commands to the workspace and the whitelists below tools."},
	{Name: "agents.defaults.allow_read_outside_workspace", Type: Bool, Default: false, PerAgent: true,
		Doc: "Allows reading and listing anywhere although restrict_to_workspace is true."},
	{Name: "agents.defaults.allow_root_workspace", Type: Bool, Default: false, PerAgent: true,
		Doc: "Allows / as a workspace. The agent can then change everything that the host's user can, this configuration included."},

	{Name: agentsKey, Alias: "list", Type: Objects,
		Doc: "The agents; the first is the one that is used when none is named. Without any there is one, main. What an agent sets replaces what is set for all."},
	{Name: "agents.agents[].id", Type: String, Format: ID, Required: true, Unique: true,
		Doc: "Name of the agent, different for each."},
	{Name: "agents.agents[].plugins.enabled", Type: Strings, Format: Glob,
		Doc: "Ids or globs: when not empty, the agent has only the plugins that match."},
	{Name: "agents.agents[].plugins.disabled", Type: Strings, Format: Glob,
		Doc: "Ids or globs of plugins that the agent does not have."},
	{Name: "agents.agents[].modules", Type: Objects,
		Doc: "Narrows the agent's built-in tools to actions of these modules. It then has the module set of tools unless tools.set says otherwise, and no tool that is not an action of a listed module."},
	{Name: "agents.agents[].modules[].module", Type: String, Values: []string{"filesystem"}, Required: true, Unique: true,
		Doc: "The module."},
	{Name: "agents.agents[].modules[].actions", Type: Strings,
		Values: []string{"read", "write", "edit", "insert", "ls", "grep", "find", "mv", "cp", "rm", "mkdir", "file_stat", "undo", "history"},
		Doc:    "The actions that the agent has; all of them when not set."},
	{Name: "agents.agents[].modules[].constraints.paths", Type: Strings, Format: Template,
		Doc: "Directories that every operation is confined to, besides all other rules. {{workspace}} stands for the agent's workspace."},
	{Name: "agents.agents[].modules[].constraints.max_file_size", Type: Size, Default: "100MB",
		Doc: "Largest file that may be read or written: bytes, or a number with KB, MB or GB (1 KB is 1024 bytes)."},

	{Name: "tools.set", Type: String, Values: []string{"picoclaw", "module", "all"}, Default: "picoclaw", PerAgent: true,
		Doc: "Which vocabulary of built-in tools is offered."},
	{Name: "tools.enabled", Type: Strings, Format: Glob, Default: []string{}, PerAgent: true,
		Doc: "Tool names or globs, such as read_file or filesystem.*: when not empty, only the tools that match are offered."},
	{Name: "tools.disabled", Type: Strings, Format: Glob, Default: []string{}, PerAgent: true,
		Doc: "Tool names or globs that are not offered."},
	{Name: "tools.allow_read_paths", Type: Strings, Format: Regexp, Default: []string{}, PerAgent: true,
		Doc: "Regular expressions (RE2), searched in absolute paths with symbolic links resolved: what matches may be read though it is outside the workspace."},
	{Name: "tools.allow_write_paths", Type: Strings, Format: Regexp, Default: []string{}, PerAgent: true,
		Doc: "The same for writing. It does not allow reading."},
	{Name: "tools.exec.enable_deny_patterns", Type: Bool, Default: true, PerAgent: true,
		Doc: "Switches the built-in rules against dangerous commands on."},
	{Name: "tools.exec.custom_deny_patterns", Type: Strings, Format: Regexp, Default: []string{}, PerAgent: true,
		Doc: "Regular expressions that refuse a command whatever else allows it."},
	{Name: "tools.exec.custom_allow_patterns", Type: Strings, Format: Regexp, Default: []string{}, PerAgent: true,
		Doc: "Regular expressions that lift a built-in rule for the one simple command that they match from end to end."},
	{Name: "tools.exec.profile", Type: String, Values: []string{"default", "seed_strict"}, Default: "default", PerAgent: true,
		Doc: "The set of built-in rules: default decides by what a command would do, seed_strict also refuses every substitution and numeric chmod."},
	{Name: "tools.exec.timeout_seconds", Type: Int, Min: 1, Max: 86400, Default: int64(60), PerAgent: true,
		Doc: "How long a command may run."},
	{Name: "tools.exec.env", Type: Strings, Format: VariableName, Default: []string{}, PerAgent: true,
		Doc: "Names of variables of the host's environment that commands get."},
	{Name: "tools.exec.limits.processes", Type: Int, Min: 0, Max: 1 << 20, Default: int64(1024), PerAgent: true,
		Doc: "How many processes and threads one command may have, with all that it starts; 0 is no limit."},
	{Name: "tools.exec.limits.memory", Type: Size, Default: "4GB", PerAgent: true,
		Doc: "How much memory one command may use, with all that it starts; never more than three quarters of the machine's."},
	{Name: "tools.exec.limits.cpu_seconds", Type: Int, Min: 0, Max: 1 << 31, Default: int64(0), PerAgent: true,
		Doc: "How much processor time one command may use, with all that it starts; 0 is no limit but the timeout."},
	{Name: "tools.exec.limits.file_size", Type: Size, Default: "4GB", PerAgent: true,
		Doc: "How large a file may become that a command writes."},
	{Name: "tools.exec.limits.open_files", Type: Int, Min: 16, Max: 1 << 20, Default: int64(8192), PerAgent: true,
		Doc: "How many descriptors each process of a command may have open."},
	{Name: "tools.cron.exec_timeout_minutes", Type: Int, Min: 1, Max: 1440, Default: int64(5), PerAgent: true,
		Doc: "How long a command of a scheduled task may run."},

	{Name: "isolation.enabled", Type: Bool, Default: false,
		Doc: "Starts plugins in namespaces with a mount view of their own (Linux, bubblewrap)."},
	{Name: "isolation.network", Type: Bool, Default: true, PerAgent: true,
		Doc: "Lets isolated processes that are granted the network use it."},
	{Name: "isolation.expose_paths", Type: Objects,
		Doc: "Host paths that isolated processes see. A later rule for a target replaces an earlier one, in the same list and from layer to layer."},
	{Name: "isolation.expose_paths[].source", Type: String, Format: Path, Required: true,
		Doc: "Path on the host, absolute or starting with ~."},
	{Name: "isolation.expose_paths[].target", Type: String, Format: Absolute,
		Doc: "Path inside; the source when not set."},
	{Name: "isolation.expose_paths[].mode", Type: String, Values: []string{"ro", "rw"},
		Doc: "ro or rw; ro when not set."},

	{Name: "audit.max_size", Type: Size, Default: "10MB",
		Doc: "How large logs/audit.jsonl may become before it is put aside under a name with the time in it, and a new one is begun."},
	{Name: "audit.max_files", Type: Int, Min: 0, Max: 100_000, Default: int64(10),
		Doc: "How many audit files that were put aside are kept, besides the current one; 0 keeps all."},
	{Name: "audit.sync", Type: String, Values: []string{"always", "interval"}, Default: "interval",
		Doc: "When a record is on disk for certain: always before the call is answered, or within an interval of a second."},
	{Name: "audit.on_error", Type: String, Values: []string{"refuse", "continue"}, Default: "refuse",
		Doc: "What happens when a call can't be recorded: refuse makes no further call and withholds the result of one that was made, continue goes on and logs an error for each."},

	{Name: "log.level", Type: String, Format: Lower, Values: []string{"trace", "debug", "info", "warn", "error", "off"}, Default: "warn",
		Doc: "What is logged on standard error: this level and what is graver."},
	{Name: "log.format", Type: String, Format: Lower, Values: []string{"text", "json"}, Default: "text",
		Doc: "How a log line looks: text for people, or json, an object with @timestamp, @level, @module and @message."},

	{Name: "$schema", Type: String,
		Doc: "Where an editor finds the JSON Schema of this file. It changes nothing."},

	{Name: "signatures.required", Type: Bool, Default: false,
		Doc: "Installs only plugins whose archive is signed by one of the keys."},
	{Name: "signatures.keys", Type: Strings, Default: []string{},
		Doc: "Public keys of minisign, each as the second line of its .pub file, whose signatures on plugins count."},

	{Name: "plugins", Type: Map,
		Doc: "What the operator decides about each plugin, by its id."},
	{Name: "plugins.<id>.enabled", Type: Bool, Default: true,
		Doc: "Whether the plugin is offered at all."},
	{Name: "plugins.<id>.dev", Type: String, Format: Path,
		Doc: "Build directory to run the plugin from instead of the store, while developing it."},
	{Name: "plugins.<id>.grants.workspace", Type: String, Values: []string{"none", "ro", "rw"}, Default: "none",
		Doc: "Access to the agent's workspace and whitelisted paths."},
	{Name: "plugins.<id>.grants.exec", Type: Bool, Default: false,
		Doc: "Whether the plugin may start processes."},
	{Name: "plugins.<id>.grants.network", Type: Bool, Default: false,
		Doc: "Whether the plugin may use the network."},
	{Name: "plugins.<id>.grants.state", Type: Bool, Default: false,
		Doc: "Whether the plugin may keep files of its own, in a directory for each agent below the home."},
	{Name: "plugins.<id>.grants.env", Type: Strings, Format: VariableName, Default: []string{},
		Doc: "Names of variables of the host's environment that the plugin gets."},
	{Name: "plugins.<id>.config", Type: Free,
		Doc: "The plugin's own configuration, checked against the schema in its manifest."},
}

// bundled holds the grants of the plugins that come with picoclaw, as one more layer of defaults. They are given
// here, as an operator gives them to any other plugin, so that they can be seen and taken away.
func bundled() map[string]any {
	grants := func(workspace string, exec, network, state bool) map[string]any {
		return map[string]any{"grants": map[string]any{"workspace": workspace, "exec": exec, "network": network, "state": state}}
	}
	grep := grants("ro", true, false, false)                                  // it runs ripgrep
	grep["grants"].(map[string]any)["env"] = []any{"HOME", "XDG_CONFIG_HOME"} // and finds git's own list of ignored files
	return map[string]any{
		"filesystem": grants("rw", false, false, true), // it keeps a journal
		"grep":       grep,
		"shell":      grants("rw", true, true, false),
	}
}
