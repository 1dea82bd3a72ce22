package inline

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
)

//go:embed data/languages.json
var languagesJSON []byte

// LanguageTable describes one language: its syntax, and its function calls with effects.
type LanguageTable struct {
	Names          string           `json:"language"`           // names of the language, separated by spaces
	Comments       string           `json:"comments,omitempty"` // prefixes of line comments, separated by spaces
	Quotes         string           `json:"quotes"`             // characters that quote a string
	RawQuotes      string           `json:"plain,omitempty"`    // characters of Quotes without interpolation
	Backticks      bool             `json:"ticks,omitempty"`    // backticks quote a command
	TripleQuotes   bool             `json:"triple,omitempty"`   // three quotes quote several lines
	Prefixes       string           `json:"prefixes,omitempty"` // letters allowed right before a quote
	QuoteOperators bool             `json:"words,omitempty"`    // q(…), %w(…) and similar quote a string
	OptionalParens bool             `json:"bare,omitempty"`     // a call may omit its parentheses
	SpaceSeparated bool             `json:"spaces,omitempty"`   // spaces separate arguments, as in Lisp
	MatchLastPart  bool             `json:"last,omitempty"`     // the last part of a name identifies a call
	ImportsNames   bool             `json:"imports,omitempty"`  // import statements as in Python
	Interpolation  string           `json:"inserts,omitempty"`  // regular expression of interpolated variables
	Calls          []CallEffectRule `json:"calls,omitempty"`
	Patterns       []EffectPattern  `json:"patterns,omitempty"`

	interpolationPattern *regexp.Regexp
	callsByName          map[string]*CallEffectRule
}

// CallEffectRule is the effect of calls of the named functions.
type CallEffectRule struct {
	Names  string `json:"call"` // separated by spaces
	Action string `json:"does,omitempty"`
	// Template is a command with the same effect. {1} is the first argument, which must be literal; {1?} may be
	// computed.
	Template     string `json:"as,omitempty"`
	FirstArg     int    `json:"from,omitempty"`  // first argument that counts; default 1
	DropWord     int    `json:"drop,omitempty"`  // word of the command to ignore: a program name given twice
	RequiredCode string `json:"needs,omitempty"` // text that must occur in the code

	RequiredOption string `json:"option,omitempty"` // text that must occur in the arguments
}

// EffectPattern is the effect of code that matches a regular expression.
type EffectPattern struct {
	Match       string `json:"match"`
	Action      string `json:"does"`
	Lang        string `json:"lang,omitempty"` // language of the matched code, for the action "code"
	ReadsOutput bool   `json:"fed,omitempty"`  // the started command reads the output of the code

	expression *regexp.Regexp
}

// tablesByLanguage maps language names to tables.
type tablesByLanguage map[string]*LanguageTable

// loadTables returns the embedded tables, parsed once.
var loadTables = sync.OnceValue(func() tablesByLanguage {
	all, err := parseLanguageTables(languagesJSON)
	if err != nil {
		panic(err) // the file is part of the program, and a test reads it
	}
	return all
})

func parseLanguageTables(data []byte) (tablesByLanguage, error) {
	var list []*LanguageTable
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&list); err != nil {
		return nil, err
	}
	all := tablesByLanguage{}
	for _, l := range list {
		if err := l.compileTable(); err != nil {
			return nil, err
		}
		for name := range strings.FieldsSeq(l.Names) {
			all[name] = l
		}
	}
	return all, nil
}

func (l *LanguageTable) compileTable() (err error) {
	if l.Interpolation != "" {
		if l.interpolationPattern, err = regexp.Compile(l.Interpolation); err != nil {
			return err
		}
	}
	l.callsByName = map[string]*CallEffectRule{}
	for i := range l.Calls {
		call := &l.Calls[i]
		for name := range strings.FieldsSeq(call.Names) {
			l.callsByName[name] = call
		}
	}
	for i := range l.Patterns {
		if l.Patterns[i].expression, err = regexp.Compile(l.Patterns[i].Match); err != nil {
			return err
		}
	}
	return nil
}

// findTable returns the table of a language, or the table "other" for languages without their own.
func (t tablesByLanguage) findTable(language string) *LanguageTable {
	return cmp.Or(t[language], t["other"])
}
