package host

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/host/agent/anthropic"
	"github.com/picoclaw/picoclaw/host/agent/cli"
	"github.com/picoclaw/picoclaw/host/agent/openai"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/suggest"
	"github.com/picoclaw/picoclaw/isolation"
)

// modelProvider is a service that provides models.
type modelProvider struct {
	protocol modelProtocol
	base     string // base URL; empty for the protocol's default
	key      string // environment variable of the key; may be empty
}

type modelProtocol int

const (
	openAIProtocol modelProtocol = iota
	anthropicProtocol
	cliProtocol // a vendor's program with its own loop
)

// modelProviders maps the prefixes of model names to services. Other services with OpenAI's protocol use the prefix
// openai and an api_base.
var modelProviders = map[string]modelProvider{
	"anthropic":  {anthropicProtocol, "", "ANTHROPIC_API_KEY"},
	"claude-cli": {cliProtocol, "", "ANTHROPIC_API_KEY"},
	"codex-cli":  {cliProtocol, "", "OPENAI_API_KEY"},
	"cerebras":   {openAIProtocol, "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"},
	"deepseek":   {openAIProtocol, "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"},
	"gemini":     {openAIProtocol, "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"},
	"groq":       {openAIProtocol, "https://api.groq.com/openai/v1", "GROQ_API_KEY"},
	"lmstudio":   {openAIProtocol, "http://localhost:1234/v1", ""},
	"mistral":    {openAIProtocol, "https://api.mistral.ai/v1", "MISTRAL_API_KEY"},
	"moonshot":   {openAIProtocol, "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"},
	"ollama":     {openAIProtocol, "http://localhost:11434/v1", ""},
	"openai":     {openAIProtocol, "", "OPENAI_API_KEY"},
	"openrouter": {openAIProtocol, "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"},
	"vllm":       {openAIProtocol, "http://localhost:8000/v1", ""},
}

// findAgentModel returns the configured model of an agent.
func (a *Runtime) findAgentModel(of *config.AgentConfig) (*config.Model, error) {
	models, wanted := a.config.Models(), cmp.Or(a.options.Model, of.Model)
	var names []string
	for i := range models {
		if names = append(names, models[i].Name); models[i].Name == wanted {
			return &models[i], nil
		}
	}
	switch {
	case wanted != "":
		return nil, fmt.Errorf("agent %s: there is no model %q in model_list%s; it has %s", of.ID, wanted,
			suggest.DidYouMean(wanted, names), cmp.Or(strings.Join(names, ", "), "none"))
	case len(models) == 1:
		return &models[0], nil
	case len(models) == 0:
		return nil, fmt.Errorf("agent %s has no model: name one in model_list, such as "+
			`{"model_name": "main", "model": "anthropic/claude-sonnet-4.6"}, and set agents.defaults.model to it`, of.ID)
	}
	return nil, fmt.Errorf("agent %s has no model: set agents.defaults.model to one of %s", of.ID,
		strings.Join(names, ", "))
}

// newModel returns a model for a session. end releases it.
func (a *Runtime) newModel(m *config.Model, s *session.Session) (model agent.Model, end func(), err error) {
	end = func() {}
	by, name, ok := strings.Cut(m.Model, "/")
	from, known := modelProviders[by]
	if !ok || !known {
		all := slices.Sorted(maps.Keys(modelProviders))
		return nil, end, fmt.Errorf("model %s: %q does not begin with a known provider%s: %s, or openai with an "+
			"api_base for any compatible server", m.Name, m.Model, suggest.DidYouMean(by, all), strings.Join(all, ", "))
	}
	if from.protocol == cliProtocol {
		model, end, err = a.newCLIModel(m, cli.ProgramVendor(by), name, s)
	} else {
		model, err = a.newHTTPModel(m, from, name)
	}
	if err != nil {
		err = fmt.Errorf("model %s: %w", m.Name, err)
	}
	return model, end, err
}

func (a *Runtime) newHTTPModel(m *config.Model, from modelProvider, name string) (agent.Model, error) {
	key, err := a.modelAPIKey(m, from)
	if err != nil {
		return nil, err
	}
	at := agent.ModelEndpoint{Model: name, BaseURL: cmp.Or(m.APIBase, from.base), Key: key, Headers: m.Headers}
	if from.protocol == anthropicProtocol {
		return anthropic.New(at)
	}
	return openai.New(at)
}

// newCLIModel returns a model behind a program that uses the tools of s. With a nil s it only checks the settings.
func (a *Runtime) newCLIModel(m *config.Model, by cli.ProgramVendor, name string, s *session.Session) (agent.Model, func(), error) {
	o := cli.Options{Vendor: by, Model: name, BaseURL: m.APIBase, Command: m.Command, Hosts: m.Hosts, Secret: m.Secret,
		Sandboxed: a.config.IsolationEnabled(), Server: []string{"picoclaw"},
		Start: func(session.AgentProgram) (*isolation.Process, error) { return nil, errEnding }}
	none := func() {}
	variable := modelProviders[string(by)].key
	switch {
	case m.Secret != "":
	case o.Sandboxed && m.APIKey != "":
		return nil, none, fmt.Errorf("its program runs in a sandbox, where keys are not; have a secret in place of api_key: "+
			`"secrets": {%q: {"from": {"env": %q}, "hosts": [...]}} and model_list[].secret`, variable, variable)
	case !o.Sandboxed && (m.APIKey != "" || os.Getenv(variable) != ""):
		var err error
		if o.Key, err = a.modelAPIKey(m, modelProviders[string(by)]); err != nil {
			return nil, none, err
		}
	}
	end := none
	if s != nil {
		exe, err := os.Executable()
		if err == nil {
			exe, err = filepath.EvalSymlinks(exe)
		}
		if err != nil {
			return nil, end, err
		}
		var socket string
		if socket, end, err = a.serveMCPSocket(s); err != nil {
			return nil, none, err
		}
		o.Start, o.Server = s.StartConfinedProgram, []string{exe, "mcp", "--connect", socket}
		o.Paths = []string{exe, filepath.Dir(socket)}
	}
	model, err := cli.New(o)
	if err != nil {
		end()
		return nil, none, err
	}
	return model, end, nil
}

// modelAPIKey returns a model's API key from a secret, the configuration, or the provider's environment variable.
// Models with an api_base need no key.
func (a *Runtime) modelAPIKey(m *config.Model, from modelProvider) (string, error) {
	if m.Secret != "" {
		return session.FetchSecret(a.config, m.Secret)
	}
	variable, named := strings.CutPrefix(m.APIKey, "$")
	if !named && m.APIKey != "" {
		return m.APIKey, nil
	}
	if !named {
		variable = from.key
	}
	variable = strings.Trim(variable, "{}")
	if value := os.Getenv(variable); value != "" || variable == "" {
		return value, nil
	}
	if !named && m.APIBase != "" {
		return "", nil
	}
	return "", fmt.Errorf("its key is in the variable %s, which is not set; set it for picoclaw, or name a secret in model_list[].secret",
		variable)
}

// agentLoopSettings returns the settings of the agent loop for an agent and its model.
func agentLoopSettings(of *config.AgentConfig, m *config.Model) agent.LoopSettings {
	s := agent.DefaultLoopSettings()
	s.MaxTokens, s.MaxIterations = int(of.MaxTokens), int(of.MaxIterations)
	s.MaxRetries, s.RetryBackoff = int(of.MaxRetries), secondsToDuration(of.RetryBackoff)
	s.SummarizeMessages, s.SummarizePercent = int(of.SummarizeMessages), int(of.SummarizePercent)
	if m.ContextWindow > 0 {
		s.ContextWindow = int(m.ContextWindow)
	}
	s.Budget = agent.TurnBudget{Tokens: of.Budget.Tokens, CostUSD: of.Budget.CostUSD, Calls: int(of.Budget.Calls),
		Time: minutesToDuration(of.Budget.Minutes)}
	if m.InputUSD > 0 || m.OutputUSD > 0 {
		s.Prices = &agent.TokenPrices{Input: m.InputUSD, Output: m.OutputUSD, CacheRead: m.CacheReadUSD,
			CacheWrite: m.CacheWriteUSD}
	}
	return s
}
