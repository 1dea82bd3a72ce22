package clitest

import (
	"fmt"
	"testing"

	"github.com/picoclaw/picoclaw/host/agent/modeltest"
)

// UseFakeModel starts a scripted fake model and writes a configuration with it. The text settings is appended to the
// top level of the configuration.
func (i Home) UseFakeModel(t *testing.T, settings string, script ...modeltest.ScriptedReply) *modeltest.FakeModelServer {
	t.Helper()
	server := modeltest.StartServer(script...)
	t.Cleanup(server.Close)
	i.WriteConfig(t, fmt.Sprintf(`{"model_list": [{"model_name": "played", "model": "openai/played", "api_base": %q}]%s}`,
		server.URL+"/v1", settings))
	return server
}

// NewToolCallReply returns a fake model's reply that calls a tool.
func NewToolCallReply(tool, arguments string) modeltest.ScriptedReply {
	return modeltest.ScriptedReply{Calls: []modeltest.ScriptedCall{{ID: "c", Tool: tool, Arguments: arguments}}}
}
