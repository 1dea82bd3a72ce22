package mcpservers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// ParseClientConfig returns the enabled servers in the settings of an MCP client by name. failed has the errors of servers
// that can't be imported.
func ParseClientConfig(text []byte) (servers map[string]ServerSpec, failed map[string]error, err error) {
	standard, err := hujson.Standardize(bytes.TrimPrefix(text, []byte("\ufeff"))) // editors on Windows write a byte order mark
	if err != nil {
		return nil, nil, err
	}
	type entry struct {
		Command  json.RawMessage   `json:"command"`
		Args     []string          `json:"args"`
		Env      map[string]string `json:"env"`
		URL      string            `json:"url"`
		HTTPURL  string            `json:"httpUrl"`
		Disabled bool              `json:"disabled"`
		Headers  map[string]string `json:"headers"`
	}
	var settings struct {
		MCPServers map[string]entry `json:"mcpServers"`
		Servers    map[string]entry `json:"servers"`
		Context    map[string]entry `json:"context_servers"`
	}
	if err := json.Unmarshal(standard, &settings); err != nil {
		return nil, nil, err
	}
	servers, failed = map[string]ServerSpec{}, map[string]error{}
	for _, all := range []map[string]entry{settings.MCPServers, settings.Servers, settings.Context} {
		for name, e := range all {
			if e.Disabled {
				continue
			}
			spec := ServerSpec{Env: e.Env, URL: cmp.Or(e.URL, e.HTTPURL), Headers: e.Headers}
			var program string
			if len(e.Command) > 0 && json.Unmarshal(e.Command, &program) != nil {
				if err := json.Unmarshal(e.Command, &spec.Command); err != nil {
					return nil, nil, fmt.Errorf("server %q: its command is neither a string nor a list of strings", name)
				}
			} else if program != "" {
				spec.Command = []string{program}
			}
			spec.Command = append(spec.Command, e.Args...)
			id := strings.Trim(notInNames().ReplaceAllString(strings.ToLower(name), "_"), "_")
			if _, twice := servers[id]; twice || failed[id] != nil {
				return nil, nil, fmt.Errorf("two servers would be called %s; rename one", id)
			}
			if err := spec.replaceClientVariables(); err != nil {
				failed[id] = err
				continue
			}
			servers[id] = spec
		}
	}
	if len(servers)+len(failed) == 0 {
		return nil, nil, errors.New(`it has no enabled servers under "mcpServers" or "servers"`)
	}
	return servers, failed, nil
}

// replaceClientVariables replaces the client's variables by picoclaw's placeholders. It returns an error for other
// variables.
func (s *ServerSpec) replaceClientVariables() error {
	replace := func(text string) (string, error) {
		text = strings.NewReplacer("${workspaceFolder}", "{{workspace}}", "${workspaceRoot}", "{{workspace}}").Replace(text)
		if found := secretVariable().FindString(text); found != "" {
			return "", fmt.Errorf("the client's variable %s is not supported; add the server by `picoclaw mcp add` with the value, or with --secret for a secret", found)
		}
		return text, nil
	}
	var err error
	if s.URL, err = replace(s.URL); err != nil {
		return err
	}
	for i := range s.Command {
		if s.Command[i], err = replace(s.Command[i]); err != nil {
			return err
		}
	}
	for _, texts := range []map[string]string{s.Env, s.Headers} {
		for name := range texts {
			if texts[name], err = replace(texts[name]); err != nil {
				return err
			}
		}
	}
	return nil
}
