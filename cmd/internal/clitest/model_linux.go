package clitest

import (
	"fmt"
	"testing"

	"github.com/picoclaw/picoclaw/host/agent/modeltest"
)

// UseModel starts a model that answers by a script, and writes a configuration with it; besides is appended to the
// configuration's top level.
func (i Home) UseModel(t *testing.T, besides string, script ...modeltest.Step) *modeltest.FakeModel {
	t.Helper()
	server := modeltest.StartServer(script...)
	t.Cleanup(server.Close)
	i.Configure(t, fmt.Sprintf(`{"model_list": [{"model_name": "played", "model": "openai/played", "api_base": %q}]%s}`,
		server.URL+"/v1", besides))
	return server
}

// CallStep is a model's answer that calls a tool.
func CallStep(tool, arguments string) modeltest.Step {
	return modeltest.Step{Calls: []modeltest.ScriptedCall{{ID: "c", Tool: tool, Arguments: arguments}}}
}
