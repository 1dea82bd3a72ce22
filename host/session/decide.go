package session

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// ExplainCall decides on a call without making it. It returns an error for an unknown tool or invalid arguments.
func (s *Session) ExplainCall(name string, raw json.RawMessage) (guard.Decision, *Error) {
	t, args, e := s.findToolAndArguments(name, raw)
	if e != nil {
		return guard.Decision{}, e
	}
	return s.decideCall(t, args), nil
}

// decideCall returns the strictest decision about a call: about its claimed arguments, and about the file in a
// resource's URI.
func (s *Session) decideCall(t *catalog.Tool, args *callArguments) guard.Decision {
	d := s.decideClaims(t.Plugin, args)
	if t.Kind != pluginpb.ResourceKind {
		return d
	}
	if path, ok := filePathOfURITemplate(t.Spec.URI, args.Values); ok {
		if file := s.policy.WithEffectiveSettingNames(s.guard.DecidePath(guard.Read, path)); file.Verdict > d.Verdict {
			return file
		}
	}
	return d
}

func (s *Session) findToolAndArguments(name string, raw json.RawMessage) (*catalog.Tool, *callArguments, *Error) {
	t, e := s.findTool(name)
	if e != nil {
		return t, nil, e
	}
	args, e := decodeArguments(t, raw)
	return t, args, e
}

// decideClaims asks the guard about every claimed argument of a call and returns the strictest decision.
func (s *Session) decideClaims(p *catalog.Plugin, args *callArguments) guard.Decision {
	strictest := guard.Decision{Verdict: guard.Allow, Rule: "tools"}
	for _, site := range args.claims {
		if site.Claim == pluginpb.ClaimProtected {
			if d := s.decideOnNamedProtectedFiles(valuesAtPropertyPath(args.Values, site.Path)); d.Verdict > strictest.Verdict {
				strictest = d
			}
			continue
		}
		for _, at := range valuesAtPropertyPath(args.Values, site.Path) {
			d := s.decideClaim(p, args.claims, site, at)
			if d.Verdict > strictest.Verdict {
				strictest = d
			} else if strictest.Verdict == guard.Allow {
				strictest.Softened = append(strictest.Softened, d.Softened...)
			}
		}
	}
	return s.policy.WithEffectiveSettingNames(strictest)
}

// decideOnNamedProtectedFiles decides on all protected files that a command changes.
func (s *Session) decideOnNamedProtectedFiles(values []claimedArgument) guard.Decision {
	var named []string
	for _, at := range values {
		if text, ok := at.value.(string); ok {
			named = append(named, text)
		}
	}
	return s.guard.DecideDeclaredProtectedFiles(named)
}

func (s *Session) decideClaim(p *catalog.Plugin, claims []pluginpb.ClaimedArgument, site pluginpb.ClaimedArgument, at claimedArgument) guard.Decision {
	if site.Claim == pluginpb.ClaimEnv || site.Claim == pluginpb.ClaimStdin {
		return guard.Decision{} // part of the decision on the command
	}
	if at.value == nil {
		return guard.Decision{} // no path given
	}
	text, ok := at.value.(string)
	if _, list := at.value.([]any); list && slices.ContainsFunc(claims, func(other pluginpb.ClaimedArgument) bool {
		return slices.Equal(other.Path, append(slices.Clone(site.Path), "*"))
	}) {
		return guard.Decision{} // decided element by element
	}
	if !ok {
		return guard.Decision{Verdict: guard.Deny, Rule: "claim.type", Reason: fmt.Sprintf("%v must be a string", site.Path)}
	}
	switch site.Claim {
	case pluginpb.ClaimCommand:
		c := s.commandFromArgument(claims, site, at, text)
		c.Undoable = s.policy.GuardPolicy().Exec.UndoableDeletes && s.undoCoversCommands(p)
		return s.guard.DecideCommand(c)
	case pluginpb.ClaimCwd, pluginpb.ClaimList:
		// No directory, or an empty one, means the workspace.
		return s.decidePath(p, guard.List, cmp.Or(text, "."))
	}
	return s.decidePath(p, guard.AccessKind(site.Claim), text)
}

// decidePath decides on a path argument. For a third-party plugin, which may read the text as a file URI, it also
// decides on the URI's path.
func (s *Session) decidePath(p *catalog.Plugin, a guard.AccessKind, text string) guard.Decision {
	strictest := s.guard.DecidePath(a, text)
	if p.Kind == catalog.BundledPlugin {
		return strictest
	}
	meant, ok := fileURIPaths(text)
	if !ok {
		return guard.Decision{Verdict: guard.Deny, Rule: "path.malformed",
			Reason: "access denied: this URI is ambiguous", Hint: "write the path itself, without file:"}
	}
	for _, path := range meant {
		if d := s.guard.DecidePath(a, path); d.Verdict > strictest.Verdict {
			strictest = d
		}
	}
	return strictest
}

// Patterns for file URIs: any text a lenient parser accepts, and the form all parsers agree on.
var (
	likeFileURI  = lazyregexp.New(`^(?i:(f|%66|%46)(i|%69|%49)(l|%6c|%4c)(e|%65|%45)(:|%3a))`)
	plainFileURI = lazyregexp.New(`^(?i:file://(?:localhost)?)(/[^?#\\[:cntrl:]]*)$`)
)

// fileURIPaths returns the paths that a file URI may mean, unescaped and escaped; none for other text. ok is false if
// parsers may disagree about the path.
func fileURIPaths(text string) (paths []string, ok bool) {
	read := strings.TrimFunc(strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(text),
		func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	if !likeFileURI().MatchString(read) {
		return nil, true
	}
	found := plainFileURI().FindStringSubmatch(text)
	if found == nil {
		return nil, false
	}
	path, err := url.PathUnescape(found[1])
	if err != nil {
		return nil, false
	}
	for _, one := range []string{path, found[1]} {
		if filepath.VolumeName(one[1:]) != "" { // /C:/x is C:/x
			one = one[1:]
		}
		paths = append(paths, one)
	}
	return slices.Compact(paths), true
}

// commandFromArgument returns the command in an argument, with the working directory and environment from its siblings.
func (s *Session) commandFromArgument(claims []pluginpb.ClaimedArgument, site pluginpb.ClaimedArgument, at claimedArgument, text string) guard.Command {
	c := guard.Command{Text: text, Env: s.commandEnv()}
	if shell, err := guard.FindShell(); err == nil {
		c.Dialect = shell.Dialect
	}
	for _, other := range claims {
		if !areSiblingProperties(site.Path, other.Path) {
			continue
		}
		value := at.object[other.Path[len(other.Path)-1]]
		switch other.Claim {
		case pluginpb.ClaimCwd:
			c.Dir, _ = value.(string)
		case pluginpb.ClaimStdin:
			c.Stdin, _ = value.(string)
		case pluginpb.ClaimEnv:
			env, _ := value.(map[string]any)
			for name, v := range env {
				c.Env[name], _ = v.(string)
			}
		}
	}
	return c
}

// areSiblingProperties reports whether two sites are properties of the same object.
func areSiblingProperties(a, b []string) bool {
	return len(a) == len(b) && len(a) > 0 && slices.Equal(a[:len(a)-1], b[:len(b)-1])
}

// claimedArgument is the value of a claimed argument, and the object that contains it.
type claimedArgument struct {
	value  any
	object map[string]any
}

// valuesAtPropertyPath returns the argument values at a site; none if an optional argument is absent.
func valuesAtPropertyPath(object map[string]any, path []string) []claimedArgument {
	value, ok := object[path[0]]
	if !ok {
		return nil
	}
	return descendToValues(claimedArgument{value: value, object: object}, path[1:])
}

func descendToValues(at claimedArgument, path []string) []claimedArgument {
	if len(path) == 0 {
		return []claimedArgument{at}
	}
	switch value := at.value.(type) {
	case []any:
		if path[0] != "*" {
			return nil
		}
		var all []claimedArgument
		for _, item := range value {
			all = append(all, descendToValues(claimedArgument{value: item, object: at.object}, path[1:])...)
		}
		return all
	case map[string]any:
		return valuesAtPropertyPath(value, path)
	}
	return nil
}

// ReplayedDecision is the decision of the session's current policy about a logged call.
type ReplayedDecision struct {
	guard.Decision

	// Inexact says why the decision may differ from the original; "" if it is exact.
	Inexact string
}

// ReplayDecision decides on a logged call by the current policy and files, without making the call. The log omits
// secrets and cuts long arguments, so the decision can be inexact.
func (s *Session) ReplayDecision(r audit.Record) ReplayedDecision {
	out := s.decideLoggedCall(r)
	switch {
	case out.Inexact != "":
	case r.Parent != "":
		out.Inexact = "another session has opened that of the call, and may have narrowed it"
	case strings.HasPrefix(r.Rule, "hooks."):
		out.Inexact = "a hook decided, which replay does not repeat"
	}
	return out
}

func (s *Session) decideLoggedCall(r audit.Record) ReplayedDecision {
	if r.Tool == "network" {
		return s.decideLoggedConnection(r)
	}
	raw := json.RawMessage("{}")
	if len(r.Args) > 0 {
		var err error
		if raw, err = json.Marshal(r.Args); err != nil {
			return ReplayedDecision{Inexact: err.Error()}
		}
	}
	t, args, e := s.findToolAndArguments(r.Tool, raw)
	// invalid calls and calls of unknown tools are logged without arguments
	unread := len(r.Args) == 0 && r.Decision == guard.Deny.String()
	if e != nil {
		out := ReplayedDecision{Decision: guard.Decision{Verdict: guard.Deny, Rule: e.Rule, Reason: e.Message, Hint: e.Hint}}
		if e.Code == pluginpb.CodeInvalidArgument && (r.Decision != guard.Deny.String() || r.Rule != "") {
			out.Inexact = "its arguments were not recorded as they were"
		}
		return out
	}
	out := ReplayedDecision{Decision: s.decideClaims(t.Plugin, args)}
	if unread {
		out.Inexact = "its arguments were not recorded"
	}
	for _, site := range args.claims {
		for _, at := range valuesAtPropertyPath(args.Values, site.Path) {
			if !audit.IsArgumentWhole(at.value) {
				out.Inexact = "its argument " + site.Path[0] + " was cut short or had a secret in it"
			}
		}
	}
	return out
}

// decideLoggedConnection decides on a logged network connection by the current policy.
func (s *Session) decideLoggedConnection(r audit.Record) ReplayedDecision {
	name, _ := r.Args["host"].(string)
	port, _ := r.Args["port"].(float64)
	if r.Args["listen"] != nil {
		return ReplayedDecision{Inexact: "the record tells of a port of this machine"}
	}
	if name == "" || port == 0 {
		return ReplayedDecision{Inexact: "the record sums several hosts up"}
	}
	d, err := s.ExplainNetwork(net.JoinHostPort(name, strconv.Itoa(int(port))))
	switch {
	case err != nil:
		return ReplayedDecision{Inexact: err.Error()}
	case strings.HasPrefix(r.Rule, "plugins."):
		return ReplayedDecision{Decision: d, Inexact: "the plugin's own hosts decided"}
	}
	return ReplayedDecision{Decision: d}
}
