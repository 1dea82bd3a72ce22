package telemetry

import "go.opentelemetry.io/otel/attribute"

// Names of the semantic conventions for GenAI and MCP, still in development, as of
// github.com/open-telemetry/semantic-conventions-genai at 0393513c908bf895e7b3ec480a2c1eb073c584af, docs/gen-ai.
const (
	operationName  = attribute.Key("gen_ai.operation.name")
	toolName       = attribute.Key("gen_ai.tool.name")
	toolCallID     = attribute.Key("gen_ai.tool.call.id")
	toolArguments  = attribute.Key("gen_ai.tool.call.arguments")
	toolResult     = attribute.Key("gen_ai.tool.call.result")
	agentName      = attribute.Key("gen_ai.agent.name")
	providerName   = attribute.Key("gen_ai.provider.name")
	requestModel   = attribute.Key("gen_ai.request.model")
	inputTokens    = attribute.Key("gen_ai.usage.input_tokens")
	outputTokens   = attribute.Key("gen_ai.usage.output_tokens")
	mcpMethod      = attribute.Key("mcp.method.name")
	mcpSession     = attribute.Key("mcp.session.id")
	mcpVersion     = attribute.Key("mcp.protocol.version")
	transport      = attribute.Key("network.transport")
	errorType      = attribute.Key("error.type")
	serviceName    = attribute.Key("service.name")
	serviceVersion = attribute.Key("service.version")
	serviceID      = attribute.Key("service.instance.id")

	executeTool = "execute_tool"
	invokeAgent = "invoke_agent"
	chat        = "chat"

	toolError    = "tool_error" // error.type of a failed result
	otherError   = "_OTHER"
	errorTimeout = "timeout"

	mcpDuration = "mcp.server.operation.duration"
	memoryUsed  = "go.memory.used"
	goroutines  = "go.goroutine.count"
)

// The names that are picoclaw's own.
const (
	ourTool     = attribute.Key("picoclaw.tool") // the full name
	ourAgent    = attribute.Key("picoclaw.agent")
	ourSession  = attribute.Key("picoclaw.session")
	ourOrigin   = attribute.Key("picoclaw.origin")
	ourDecision = attribute.Key("picoclaw.decision")
	ourRule     = attribute.Key("picoclaw.rule")
	ourAnswer   = attribute.Key("picoclaw.answer")
	ourError    = attribute.Key("picoclaw.error.code")

	callDuration  = "picoclaw.call.duration"
	callsWaiting  = "picoclaw.calls.waiting"
	pluginStart   = "picoclaw.plugin.start.duration"
	pluginCrashes = "picoclaw.plugin.crashes"
	pluginRunning = "picoclaw.plugin.processes"
	spansCount    = "picoclaw.telemetry.spans"

	// Labels of metrics.
	agentLabel    = attribute.Key("agent")
	toolLabel     = attribute.Key("tool")
	decisionLabel = attribute.Key("decision")
	outcomeLabel  = attribute.Key("outcome")
	pluginLabel   = attribute.Key("plugin")
	forLabel      = attribute.Key("for")
)

// callBuckets returns the bucket bounds for calls and plugin starts, in seconds.
func callBuckets() []float64 { return []float64{0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60} }
