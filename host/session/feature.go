package session

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// ResourceOrPrompt is a resource or prompt that a session may use. [Session.Call] with its name reads it.
type ResourceOrPrompt struct {
	Name   string // such as "prompt:notes.summary"
	Short  string // a prompt's name without kind, and without plugin if that is unambiguous
	Kind   string // [pluginpb.ResourceKind] or [pluginpb.PromptKind]
	Plugin string
	Spec   *pluginpb.ToolSpec
}

// ResourcesAndPrompts returns the resources and prompts that the agent may use, sorted by name. It omits resources that
// share a URI.
func (s *Session) ResourcesAndPrompts() []ResourceOrPrompt {
	tools := s.enabledTools((*catalog.Catalog).ResourcesAndPrompts)
	uris, short := map[string]int{}, map[string]int{}
	for _, t := range tools {
		uris[t.Spec.URI]++
		if t.Kind == pluginpb.PromptKind && !t.Plugin.Manifest.FullNames {
			short[t.Spec.Name]++
		}
	}
	var all []ResourceOrPrompt
	for _, t := range tools {
		f := ResourceOrPrompt{t.FullName(), t.Spec.Name, t.Kind, t.Plugin.Manifest.ID, t.Spec}
		if short[f.Short] != 1 || t.Plugin.Manifest.FullNames {
			f.Short = f.Plugin + "." + f.Short
		}
		if t.Kind == pluginpb.PromptKind || uris[t.Spec.URI] == 1 {
			all = append(all, f)
		}
	}
	return all
}

// MatchURI matches a URI with the resource's URI, and returns the values of the variables as call arguments. ok is
// false if the URI does not match.
func (f *ResourceOrPrompt) MatchURI(uri string) (arguments json.RawMessage, ok bool) {
	template, err := pluginpb.ParseURITemplate(f.Spec.URI)
	if err != nil {
		return nil, false
	}
	values, ok := template.MatchURI(uri)
	if !ok {
		return nil, false
	}
	arguments, err = json.Marshal(values)
	return arguments, err == nil
}

// filePathOfURITemplate inserts values into a file: URI template and returns the path in it.
func filePathOfURITemplate(uri string, values map[string]any) (path string, ok bool) {
	scheme, path, _ := strings.Cut(uri, ":")
	if !strings.EqualFold(scheme, "file") {
		return "", false
	}
	if rest, hosted := strings.CutPrefix(path, "//"); hosted {
		_, path, _ = strings.Cut(rest, "/") // after the host
	}
	var names []string
	for name, value := range values {
		text := fmt.Sprint(value)
		names = append(names, "{"+name+"}", text, "{+"+name+"}", text)
	}
	if len(names) == 0 {
		plain, err := url.PathUnescape(path)
		if err != nil {
			return "", false
		}
		path = plain
	}
	return filepath.Clean("/" + strings.NewReplacer(names...).Replace(path)), true
}
