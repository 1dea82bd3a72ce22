package inline

import (
	_ "embed"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
)

//go:embed data/languages.json
var languages []byte

// Language says how code of a language is read.
type Language struct {
	Names    string    `json:"language"`           // the language's names, separated by spaces
	Comments string    `json:"comments,omitempty"` // what begins a comment that ends with its line, separated by spaces
	Quotes   string    `json:"quotes"`             // the characters that quote a string
	Plain    string    `json:"plain,omitempty"`    // those of Quotes between which nothing is replaced
	Ticks    bool      `json:"ticks,omitempty"`    // what stands between backticks is a command
	Triple   bool      `json:"triple,omitempty"`   // three quotes quote several lines
	Prefixes string    `json:"prefixes,omitempty"` // letters that may stand right before a quote
	Words    bool      `json:"words,omitempty"`    // strings may be written q(…), %w(…) and the like
	Bare     bool      `json:"bare,omitempty"`     // a call may have no parentheses
	Spaces   bool      `json:"spaces,omitempty"`   // blanks stand between arguments, as in Lisp
	Last     bool      `json:"last,omitempty"`     // a call is known by the last part of its name
	Imports  bool      `json:"imports,omitempty"`  // names may be imported, as Python does
	Inserts  string    `json:"inserts,omitempty"`  // the expression of what is replaced in a string
	Calls    []Call    `json:"calls,omitempty"`
	Patterns []Pattern `json:"patterns,omitempty"`

	inserts *regexp.Regexp
	loops   *regexp.Regexp
	calls   map[string]*Call
}

// Call says what calls of some names do.
type Call struct {
	Names string `json:"call"` // separated by spaces
	Does  string `json:"does,omitempty"`
	// the command that does the same; {1} is the first argument, {1?} may be computed
	As    string `json:"as,omitempty"`
	From  int    `json:"from,omitempty"`  // the first argument that counts; 1 unless given
	Drop  int    `json:"drop,omitempty"`  // the word of the command that doesn't count: a program's name, given twice
	Needs string `json:"needs,omitempty"` // a word that the code must have

	Option string `json:"option,omitempty"` // a word that the arguments must have
}

// Pattern says what a part of the code does that an expression matches.
type Pattern struct {
	Match string `json:"match"`
	Does  string `json:"does"`
	Lang  string `json:"lang,omitempty"` // of "code"
	Fed   bool   `json:"fed,omitempty"`  // what is started reads what the code prints

	expression *regexp.Regexp
}

// tables are all languages by their names.
type tables map[string]*Language

// table returns the languages; they are read once.
var table = sync.OnceValue(func() tables {
	all, err := parse(languages)
	if err != nil {
		panic(err) // the file is part of the program, and a test reads it
	}
	return all
})

func parse(data []byte) (tables, error) {
	var list []*Language
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&list); err != nil {
		return nil, err
	}
	all := tables{}
	for _, l := range list {
		if err := l.compile(); err != nil {
			return nil, err
		}
		for name := range strings.FieldsSeq(l.Names) {
			all[name] = l
		}
	}
	return all, nil
}

func (l *Language) compile() (err error) {
	if l.Inserts != "" {
		if l.inserts, err = regexp.Compile(l.Inserts); err != nil {
			return err
		}
	}
	l.loops = regexp.MustCompile(`\b(while|until|loop|forever|times)\b|for\s*\(\s*;`)
	l.calls = map[string]*Call{}
	for i := range l.Calls {
		call := &l.Calls[i]
		for name := range strings.FieldsSeq(call.Names) {
			l.calls[name] = call
		}
	}
	for i := range l.Patterns {
		if l.Patterns[i].expression, err = regexp.Compile(l.Patterns[i].Match); err != nil {
			return err
		}
	}
	return nil
}

// find returns a language's table. A language without one is read by the table of those that have none.
func (t tables) find(language string) *Language {
	if l := t[language]; l != nil {
		return l
	}
	return t["other"]
}
