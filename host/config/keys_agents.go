package config

import "slices"

// agentKeys are the rows of the table about agents that run here: their models, their schedule, and the gateway that
// they run in.
var agentKeys = slices.Concat([]Key{
	{Name: "agents.defaults.model", Alias: "model_name", Type: String, PerAgent: true,
		Doc: "The agent's language model: a model_name of model_list."},
	{Name: "agents.defaults.instructions", Type: String, PerAgent: true,
		Doc: "What the model is told besides, before each turn."},
	{Name: "agents.defaults.max_tokens", Type: Int, Min: 1, Max: 10_000_000, Default: int64(32768), PerAgent: true,
		Doc: "The most tokens that the model may answer with at a time."},
	{Name: "agents.defaults.max_tool_iterations", Type: Int, Min: 1, Max: 10_000, Default: int64(50), PerAgent: true,
		Doc: "How often the model may answer with calls in one turn."},
	{Name: "agents.defaults.max_llm_retries", Type: Int, Min: 0, Max: 20, Default: int64(2), PerAgent: true,
		Doc: "How often a request is sent again that the model's server did not answer, or refused as too much."},
	{Name: "agents.defaults.llm_retry_backoff_secs", Type: Int, Min: 1, Max: 600, Default: int64(2), PerAgent: true,
		Doc: "How long the first of them waits, in seconds; each further one waits twice as long."},
	{Name: "agents.defaults.summarize_message_threshold", Type: Int, Min: 2, Max: 100_000, Default: int64(20), PerAgent: true,
		Doc: "From how many messages on a conversation may be summarised."},
	{Name: "agents.defaults.summarize_token_percent", Type: Int, Min: 10, Max: 95, Default: int64(75), PerAgent: true,
		Doc: "How much of the model's context window, in percent, a conversation fills when it is."},
	{Name: "agents.defaults.max_parallel_turns", Type: Int, Min: 0, Max: 1000, Default: int64(1), PerAgent: true,
		Doc: "How many turns of the agent the gateway runs at a time; 0 and 1 mean one after another."},
	{Name: "agents.defaults.budget.tokens", Type: Int, Min: 0, Max: 1 << 50, Default: int64(0), PerAgent: true,
		Doc: "How many tokens one turn may take, those of its subagents included; 0 for any number."},
	{Name: "agents.defaults.budget.cents", Type: Int, Min: 0, Max: 1 << 40, Default: int64(0), PerAgent: true,
		Doc: "How many US cents one turn may cost, by the prices in model_list; 0 for any number."},
	{Name: "agents.defaults.budget.calls", Type: Int, Min: 0, Max: 1 << 40, Default: int64(0), PerAgent: true,
		Doc: "How many tool calls one turn may make; 0 for any number."},
	{Name: "agents.defaults.budget.minutes", Type: Int, Min: 0, Max: 10_080, Default: int64(60), PerAgent: true,
		Doc: "How long one turn may take; 0 for any time."},
	{Name: "agents.defaults.subturn.max_depth", Type: Int, Min: 0, Max: 10, Default: int64(3), PerAgent: true,
		Doc: "How deep subagents may have subagents; 0 for none at all."},
	{Name: "agents.defaults.subturn.max_concurrent", Type: Int, Min: 1, Max: 100, Default: int64(5), PerAgent: true,
		Doc: "How many subagents of one agent run at a time."},
	{Name: "agents.defaults.subturn.default_timeout_minutes", Type: Int, Min: 1, Max: 1440, Default: int64(5), PerAgent: true,
		Doc: "How long a subagent may take."},
	{Name: "agents.defaults.subturn.default_token_budget", Type: Int, Min: 0, Max: 1 << 50, Default: int64(0), PerAgent: true,
		Doc: "How many tokens a subagent may take; 0 for what its parent may."},
	{Name: "agents.defaults.subturn.concurrency_timeout_sec", Type: Int, Min: 1, Max: 3600, Default: int64(30), PerAgent: true,
		Doc: "How long a subagent waits for its turn when as many run as may."},
	{Name: "agents.defaults.subagents.allow_agents", Type: Strings, Default: []string{}, PerAgent: true,
		Doc: "The agents that the agent may delegate to, by id; * for any."},

	{Name: "model_list", Type: Objects,
		Doc: "The language models that agents can have."},
	{Name: "model_list[].model_name", Type: String, Required: true, Unique: true,
		Doc: "What it is called here."},
	{Name: "model_list[].model", Type: String, Required: true,
		Doc: "Who serves it and what it is called there, such as openai/gpt-5.2, anthropic/claude-sonnet-4.6, ollama/qwen3, claude-cli/sonnet or codex-cli/codex-cli."},
	{Name: "model_list[].api_base", Type: String,
		Doc: "Where it is served, for another place than its maker's."},
	{Name: "model_list[].api_key", Type: String,
		Doc: "The key; $NAME stands for a variable of the environment. Without it the secret, or else the variable of the model's maker is looked at, such as OPENAI_API_KEY."},
	{Name: "model_list[].secret", Type: String,
		Doc: "Name of the secret, under secrets, that is the key."},
	{Name: "model_list[].headers", Type: Texts,
		Doc: "Headers that requests have besides."},
	{Name: "model_list[].context_window", Type: Int, Min: 1000, Max: 100_000_000,
		Doc: "How many tokens a conversation may have."},
	{Name: "model_list[].input_cents", Type: Int, Min: 0, Max: 1_000_000,
		Doc: "What a million tokens of input cost, in US cents."},
	{Name: "model_list[].output_cents", Type: Int, Min: 0, Max: 1_000_000,
		Doc: "What a million tokens of output cost, in US cents."},
	{Name: "model_list[].command", Type: Strings,
		Doc: "The program of a CLI provider, and arguments before picoclaw's; claude or codex on the PATH unless set."},
	{Name: "model_list[].hosts", Type: Strings,
		Doc: "The hosts that a CLI provider may reach, as in network.allow; those of its maker's API unless set."},

	{Name: "heartbeat.enabled", Type: Bool, Default: true, PerAgent: true,
		Doc: "Whether the gateway has the agent look at its HEARTBEAT.md, below schedule in the home, every so often."},
	{Name: "heartbeat.interval", Type: Int, Min: 0, Max: 10_080, Default: int64(30), PerAgent: true,
		Doc: "How often, in minutes: at least 5; 0 means 30."},
	{Name: "tools.cron.enabled", Type: Bool, Default: true, PerAgent: true,
		Doc: "Whether the agent has the tool cron, and its jobs run."},
	{Name: "tools.cron.allow_command", Type: Bool, Default: true, PerAgent: true,
		Doc: "Whether jobs may be commands. Each is decided when it is added, and each time that it runs."},

	{Name: "gateway.host", Type: String, Default: "localhost",
		Doc: "Where the gateway serves HTTP: a name or an address of this machine's. Others than localhost can be reached by other machines, and nothing is encrypted."},
	{Name: "gateway.port", Type: Int, Min: 0, Max: 65535, Default: int64(18790),
		Doc: "The port; 0 for any that is free."},
	{Name: "gateway.allow_hosts", Type: Strings, Default: []string{},
		Doc: "Names by which clients may reach this machine besides localhost."},
	{Name: "gateway.hot_reload", Type: Bool, Default: false,
		Doc: "Whether a configuration file that has changed is read again, every 2 seconds."},
	{Name: "gateway.drain_seconds", Type: Int, Min: 0, Max: 3600, Default: int64(10),
		Doc: "How long calls and turns may go on when the gateway is told to end."},

	{Name: "hooks.enabled", Type: Bool, Default: true,
		Doc: "Whether hooks are asked."},
	{Name: "hooks.on_error", Type: String, Values: []string{"closed", "open"}, Default: "closed",
		Doc: "What a hook that fails means for a call that it is asked about before: closed refuses it, open lets it go on."},
	{Name: "hooks.defaults.observer_timeout_ms", Type: Int, Min: 1, Max: 3_600_000, Default: int64(500),
		Doc: "How long a process may take over what it observes, in milliseconds."},
	{Name: "hooks.defaults.interceptor_timeout_ms", Type: Int, Min: 1, Max: 3_600_000, Default: int64(5000),
		Doc: "How long it may take over what it intercepts."},
	{Name: "hooks.defaults.approval_timeout_ms", Type: Int, Min: 1, Max: 3_600_000, Default: int64(60000),
		Doc: "How long it may take to approve a call."},
	{Name: "hooks.processes", Type: Map,
		Doc: "Processes that run as long as the host and are asked in JSON-RPC lines, by name."},
	{Name: "hooks.processes.<id>.enabled", Type: Bool, Default: true,
		Doc: "Whether it is asked."},
	{Name: "hooks.processes.<id>.priority", Type: Int, Min: -1_000_000, Max: 1_000_000, Default: int64(0),
		Doc: "Those with a smaller number are asked first."},
	{Name: "hooks.processes.<id>.transport", Type: String, Values: []string{"stdio"}, Default: "stdio",
		Doc: "How it is spoken to."},
	{Name: "hooks.processes.<id>.command", Type: Strings, Required: true,
		Doc: "The program and its arguments."},
	{Name: "hooks.processes.<id>.dir", Type: String, Format: Path,
		Doc: "The directory that it is started in; the agent's workspace unless set."},
	{Name: "hooks.processes.<id>.env", Type: Texts,
		Doc: "Its environment besides PATH and HOME."},
	{Name: "hooks.processes.<id>.observe", Type: Strings,
		Doc: "The events that it is told of."},
	{Name: "hooks.processes.<id>.intercept", Type: Strings,
		Doc: "What it is asked about: before_tool, after_tool, approve_tool, before_llm, after_llm."},
}, hookGrants("hooks.processes.<id>."), eventHooks())

// HookEvents are the events that commands can be run at, by Claude Code's names.
func HookEvents() []string {
	return []string{"PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart", "SessionEnd", "SubagentStop", "Stop"}
}

// eventHooks are the rows of hooks.<Event>, which are as in Claude Code's settings.
func eventHooks() (rows []Key) {
	for _, event := range HookEvents() {
		name := "hooks." + event
		rows = append(rows,
			Key{Name: name, Type: Objects, Doc: "Commands that are run at " + event + ", as in Claude Code's settings."},
			Key{Name: name + "[].matcher", Type: String,
				Doc: "A regular expression for the whole name of a tool, by picoclaw's name or Claude Code's; any tool unless set."},
			Key{Name: name + "[].hooks", Type: Objects, Required: true, Doc: "The commands, which run at once."},
			Key{Name: name + "[].hooks[].type", Type: String, Values: []string{"command"}, Default: "command",
				Doc: "What it is."},
			Key{Name: name + "[].hooks[].command", Type: String, Required: true,
				Doc: "A command for sh, which has the event as JSON on its standard input."},
			Key{Name: name + "[].hooks[].timeout", Type: Int, Min: 1, Max: 86_400, Default: int64(60),
				Doc: "How long it may take, in seconds."})
		rows = append(rows, hookGrants(name+"[].hooks[].")...)
	}
	return rows
}

// hookGrants are the rows of what a hook may touch.
func hookGrants(prefix string) []Key {
	return []Key{
		{Name: prefix + "workspace", Type: String, Values: []string{"none", "ro", "rw"}, Default: "ro",
			Doc: "What it may do with the agent's workspace."},
		{Name: prefix + "read", Type: Strings, Format: Path,
			Doc: "Paths that it sees besides, such as where its program lies."},
		{Name: prefix + "network", Type: Bool, Default: false, Doc: "Whether it may use the network."},
		{Name: prefix + "hosts", Type: Strings, Doc: "The hosts that it may reach and no others, as in network.allow."},
		{Name: prefix + "secrets", Type: Strings, Format: VariableName,
			Doc: "Secrets that it may use on those hosts without seeing them."},
	}
}
