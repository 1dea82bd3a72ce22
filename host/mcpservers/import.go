package mcpservers

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// Import reads the servers of a client's settings, by the names that they get here, and says of others why they can't
// be had. Those that the client has switched off are left out.
func Import(text []byte) (found map[string]Spec, wrong map[string]error, err error) {
	standard, err := hujson.Standardize(text)
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
	found, wrong = map[string]Spec{}, map[string]error{}
	for _, all := range []map[string]entry{settings.MCPServers, settings.Servers, settings.Context} {
		for name, e := range all {
			if e.Disabled {
				continue
			}
			spec := Spec{Env: e.Env, URL: e.URL, Headers: e.Headers}
			if spec.URL == "" {
				spec.URL = e.HTTPURL
			}
			var program string
			if len(e.Command) > 0 && json.Unmarshal(e.Command, &program) != nil {
				if err := json.Unmarshal(e.Command, &spec.Command); err != nil {
					return nil, nil, fmt.Errorf("server %q: its command is neither a text nor a list of texts", name)
				}
			} else if program != "" {
				spec.Command = []string{program}
			}
			spec.Command = append(spec.Command, e.Args...)
			id := strings.Trim(notInNames().ReplaceAllString(strings.ToLower(name), "_"), "_")
			if _, twice := found[id]; twice || wrong[id] != nil {
				return nil, nil, fmt.Errorf("two servers would be called %s; rename one", id)
			}
			if err := spec.settle(); err != nil {
				wrong[id] = err
				continue
			}
			found[id] = spec
		}
	}
	if len(found)+len(wrong) == 0 {
		return nil, nil, errors.New(`it has no servers under "mcpServers" or "servers" that are switched on`)
	}
	return found, wrong, nil
}

// settle puts what stands for something here in the place of a client's variables.
func (s *Spec) settle() error {
	settled := func(text string) (string, error) {
		text = strings.NewReplacer("${workspaceFolder}", "{{workspace}}", "${workspaceRoot}", "{{workspace}}").Replace(text)
		if found := variable().FindString(text); found != "" {
			return "", fmt.Errorf("%s is a variable of the client's; add the server by `picoclaw mcp add`, with the value, or with --secret for a secret", found)
		}
		return text, nil
	}
	var err error
	if s.URL, err = settled(s.URL); err != nil {
		return err
	}
	for i := range s.Command {
		if s.Command[i], err = settled(s.Command[i]); err != nil {
			return err
		}
	}
	for _, texts := range []map[string]string{s.Env, s.Headers} {
		for name := range texts {
			if texts[name], err = settled(texts[name]); err != nil {
				return err
			}
		}
	}
	return nil
}
