package rules

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/internal/suggest"
)

// ParseRules parses a JSON array of [Rule] objects. Errors name the rule and the remedy.
func ParseRules(file string, text []byte) ([]Rule, error) {
	var entries []json.RawMessage
	if err := json.Unmarshal(text, &entries); err != nil {
		return nil, fmt.Errorf("%s isn't an array of rules: %s", file, formatSyntaxError(err, text))
	}
	rules := make([]Rule, len(entries))
	for i, entry := range entries {
		r := &rules[i]
		if err := r.parseRule(entry); err != nil {
			return nil, fmt.Errorf("%s: rule %d %s: %w", file, i+1, cmp.Or(r.ID, "(without an id)"), err)
		}
		r.File = file
	}
	return rules, nil
}

// formatSyntaxError returns the message of a JSON error with its line.
func formatSyntaxError(err error, text []byte) string {
	if bad := new(json.SyntaxError); errors.As(err, &bad) {
		return fmt.Sprintf("line %d: %s", 1+bytes.Count(text[:min(int(bad.Offset), len(text))], []byte("\n")), bad)
	}
	return "write [ before the first rule and ] behind the last"
}

func (r *Rule) parseRule(entry []byte) error {
	in := json.NewDecoder(bytes.NewReader(entry))
	in.DisallowUnknownFields()
	if err := in.Decode(r); err != nil {
		_ = json.Unmarshal(entry, &struct{ ID *string }{&r.ID}) // for the message
		wrong := new(json.UnmarshalTypeError)
		if key := checkUnknownKeys(entry, ruleKeys); key != nil {
			return key
		} else if errors.As(err, &wrong) {
			return fmt.Errorf("%q can't be a %s; write %s", wrong.Field, wrong.Value, kindNames[wrong.Type.Kind()])
		}
		return err
	}
	r.Tier, r.Decision = cmp.Or(r.Tier, Soft), cmp.Or(r.Decision, Deny)
	return r.validate()
}

// kindNames are the names of value types in messages.
var kindNames = map[reflect.Kind]string{
	reflect.Bool: "true or false", reflect.Int: "a number", reflect.String: "a text", reflect.Slice: "an array of texts",
}

var validID = lazyregexp.New(`^[a-z][a-z0-9.-]*$`)

// validate returns an error for a rule with missing or contradictory fields.
func (r *Rule) validate() error {
	conditions := len(r.Programs)+len(r.Takes)+len(r.Verb)+len(r.Flags)+len(r.Args)+len(r.Via)+r.Operands > 0 ||
		r.When != "" || r.Unless != nil
	switch {
	case r.ID == "":
		return errors.New(`it has no "id"; give it one such as "exec.terraform-destroy"`)
	case !validID().MatchString(r.ID):
		return errors.New("the id must begin with a lower-case letter and contain only lower-case letters, digits, dots and hyphens")
	case !slices.Contains(tiers, r.Tier):
		return unknownWordError("tier", r.Tier, tiers)
	case !slices.Contains(decisions, r.Decision):
		return unknownWordError("decision", r.Decision, decisions)
	case r.Decision == Allow && r.Tier == Hard:
		return errors.New(`a rule that allows has no tier; leave "tier" out`)
	case r.Why == "":
		return errors.New(`it has no "why"; describe the effect of the command, such as "deletes the database"`)
	case r.Operands < 0:
		return errors.New(`"operands" can't be less than 0; leave it out`)
	case r.Structure && conditions:
		return errors.New(`a rule with "structure" has no programs and no conditions; leave one or the other out`)
	case r.Structure:
		return nil
	case len(r.Programs) == 0:
		return errors.New(`it has no "programs"; name the programs, such as "terraform tofu"`)
	}
	for _, program := range r.Programs {
		if strings.ContainsAny(program, "/ ") {
			return fmt.Errorf("the program %q must be a name; leave its directory and its arguments out", program)
		}
	}
	for _, option := range r.Takes {
		if len(option) < 2 || option[0] != '-' || strings.Contains(option, "=") {
			return fmt.Errorf(`%q in "takes" must be an option with its dashes, such as -C or --context`, option)
		}
	}
	if r.Unless != nil {
		if err := r.Unless.validate(); err != nil {
			return fmt.Errorf(`in "unless": %w`, err)
		}
	}
	return r.Conditions.validate()
}

func (o *Conditions) validate() error {
	if i := slices.IndexFunc(o.Flags, func(f string) bool { return len(f) < 2 || f[0] != '-' }); i >= 0 {
		return fmt.Errorf(`%q in "flags" must be an option with its dashes; other words belong in "args"`, o.Flags[i])
	}
	for _, phrase := range o.Verb {
		for _, word := range phrase {
			if strings.HasPrefix(word[0], "-") {
				return fmt.Errorf(`%q in "verb" is an option; options belong in "flags"`, strings.Join(word, "*"))
			}
		}
	}
	if o.When != "" && predicates[o.When] == nil {
		return unknownWordError("predicate", o.When, slices.Sorted(maps.Keys(predicates)))
	}
	return nil
}

var (
	tiers     = []string{Soft, Hard}
	decisions = []string{Deny, Ask, Allow}

	ruleKeys   = jsonKeys(reflect.TypeFor[Rule]())
	unlessKeys = jsonKeys(reflect.TypeFor[Conditions]())
)

func jsonKeys(t reflect.Type) []string {
	var keys []string
	for _, f := range reflect.VisibleFields(t) {
		if key := f.Tag.Get("json"); key != "" && key != "-" {
			keys = append(keys, key)
		}
	}
	return keys
}

// checkUnknownKeys returns an error for an unknown JSON key, also in "unless".
func checkUnknownKeys(object []byte, known []string) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(object, &fields); err != nil {
		return fmt.Errorf("%.20s isn't an object; write its keys in braces", object)
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(known, key) {
			return unknownWordError("key", key, known)
		}
		if key == "unless" {
			if err := checkUnknownKeys(fields[key], unlessKeys); err != nil {
				return fmt.Errorf(`in "unless": %w`, err)
			}
		}
	}
	return nil
}

// unknownWordError returns the error for an unknown word. It suggests a similar known word.
func unknownWordError(what, word string, known []string) error {
	near := cmp.Or(suggest.DidYouMean(word, known), "; there are "+strings.Join(known, ", "))
	return fmt.Errorf("there is no %s %q%s", what, word, near)
}

type (
	wordList   []string          // in JSON a text of words, or an array
	phraseList [][]lowercaseGlob // in JSON one phrase, or an array of them
	globList   []lowercaseGlob   // in JSON a text of patterns, or an array of those that may hold spaces
)

func (w *wordList) UnmarshalJSON(data []byte) error {
	texts, err := parseStringOrArray(data)
	*w = strings.Fields(strings.Join(texts, " "))
	return err
}

func (p *phraseList) UnmarshalJSON(data []byte) error {
	texts, err := parseStringOrArray(data)
	for _, text := range texts {
		var phrase []lowercaseGlob
		for _, word := range strings.Fields(text) {
			phrase = append(phrase, newLowercaseGlob(word))
		}
		if phrase == nil {
			return errors.New(`a phrase in "verb" is empty; leave it out`)
		}
		*p = append(*p, phrase)
	}
	return err
}

func (g *globList) UnmarshalJSON(data []byte) error {
	texts, err := parseStringOrArray(data)
	if data[0] == '"' && len(texts) == 1 {
		texts = strings.Fields(texts[0])
	}
	for _, text := range texts {
		*g = append(*g, newLowercaseGlob(text))
	}
	return err
}

func parseStringOrArray(data []byte) ([]string, error) {
	one := make([]string, 1)
	if data[0] == '"' {
		return one, json.Unmarshal(data, &one[0])
	}
	var several []string
	if json.Unmarshal(data, &several) != nil {
		return nil, fmt.Errorf("%.20s is neither a text nor an array of texts; put it in quotation marks", data)
	}
	return several, nil
}
