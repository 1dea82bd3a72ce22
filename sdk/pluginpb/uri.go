package pluginpb

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// URITemplate is the URI of a resource with variables: {name} matches a part without "/", "?" and "#", {+name} any
// text.
type URITemplate struct {
	text    string
	pattern *regexp.Regexp
	names   []string
}

// maxURI is the maximum length of a template, in bytes.
const maxURI = 2048

// templateVariable matches a variable of a template.
var templateVariable = regexp.MustCompile(`\{(\+?)([A-Za-z_][A-Za-z0-9_]*)\}`)

// ParseURITemplate parses a template such as notes://{name}.
func ParseURITemplate(text string) (*URITemplate, error) {
	scheme, _, found := strings.Cut(text, ":")
	if !found || len(text) > maxURI || strings.ContainsAny(scheme, "{}/ ") || scheme == "" {
		return nil, fmt.Errorf("%q is not a URI of at most %d bytes, such as notes://{name}", text, maxURI)
	}
	t := &URITemplate{text: text}
	var pattern strings.Builder
	end := 0
	for _, at := range templateVariable.FindAllStringSubmatchIndex(text, -1) {
		pattern.WriteString(regexp.QuoteMeta(text[end:at[0]]))
		part := "([^/?#]+)"
		if at[2] < at[3] {
			part = "(.+)"
		}
		pattern.WriteString(part)
		t.names, end = append(t.names, text[at[4]:at[5]]), at[1]
	}
	rest := text[end:]
	if strings.ContainsAny(templateVariable.ReplaceAllString(text, ""), "{}") {
		return nil, fmt.Errorf("the URI %q has a variable that is neither {name} nor {+name}", text)
	}
	var err error
	t.pattern, err = regexp.Compile("^(?s:" + pattern.String() + regexp.QuoteMeta(rest) + ")$")
	return t, err
}

// Names returns the names of the variables.
func (t *URITemplate) Names() []string { return t.names }

// MatchURI returns the decoded values of the variables in a URI. ok is false if the URI does not match.
func (t *URITemplate) MatchURI(uri string) (values map[string]string, ok bool) {
	found := t.pattern.FindStringSubmatch(uri)
	if found == nil {
		return nil, false
	}
	values = map[string]string{}
	for i, name := range t.names {
		value, err := url.PathUnescape(found[i+1])
		if before, twice := values[name]; err != nil || twice && before != value {
			return nil, false
		}
		values[name] = value
	}
	return values, true
}

// ExpandURI returns the URI with values for the variables.
func (t *URITemplate) ExpandURI(values map[string]string) string {
	return templateVariable.ReplaceAllStringFunc(t.text, func(variable string) string {
		found := templateVariable.FindStringSubmatch(variable)
		if found[1] == "" {
			return url.PathEscape(values[found[2]])
		}
		return (&url.URL{Path: values[found[2]]}).EscapedPath()
	})
}
