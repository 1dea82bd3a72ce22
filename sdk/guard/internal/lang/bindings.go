package lang

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

var (
	// binds and bound are what stands before and behind a variable that gets a value otherwise than by being set.
	binds = pattern.New(`(?:\bfunction\b[^()]*\([^()]*|\bdef\s+\w+\s*\([^()]*|\blambda\b[^:\n]*|\bcatch\s*\(\s*|\bas\s+|\b(?:global|nonlocal|del)\s+[^;\n]*|\b(?:def|class|import|function)\s+|\bcase\b[^:\n]*|\bimport\b[^;\n]*,\s*)$`)
	bound = pattern.New(`^\s*(?:=>|[^()\n]*\)\s*=>|[^()={}\n]*[}\]]\s*=[^=>]|:=)`)
	// loopBegins is what stands before a variable that a loop sets, or before one in the list of a loop; listed tells them apart.
	loopBegins = pattern.New(`\b(?:for|foreach)\b[^;\n{}]*$`)
	listed     = pattern.New(`\s(?:in|of|as)\s|:`)
	// together and alike are what stands before and behind a variable that is one of several which are set by one statement.
	together = pattern.New(`(?:^|[;\n{}:]|\b(?:const|let|var|my|our|local|list)\b)\s*[\[({]*\s*(?:[*$@%&]*\w*\s*,\s*)*[*]?[\[({]*\s*(?:[*$@%&]*\w*\s*,\s*)*[*]?$`)
	alike    = pattern.New(`^\s*(?:,\s*[*$@%&\[({]*\w*\s*[\])}]*)*[\])}]*\s*=(?:[^=>~]|$)`)
	// alters and altersNext are what stands behind and before a string that is changed where it is, and setWithin one that is set in brackets.
	alters     = pattern.New(`^\s*(?:=~\s*(?:s\b|tr\b|y\b|"\d+")|\.\s*(?:\w+!|replace|insert|concat|prepend|<<))`)
	altersNext = pattern.New(`\b(?:substr|vec|chop|chomp|splice|push|unshift|sysread|read)\s*\(?\s*$`)
	setWithin  = pattern.New(`^\s*=\s*"\d+"\s*\)\s*`)
	// becomes is where a variable of Perl's becomes another one.
	becomes = pattern.New(`\*\{?"?\w+"?\}?\s*=`)
)

// gets says whether a variable gets a value at a place where it stands otherwise than by being set by itself: as a parameter, by a loop,
// with others, by its elements, under another name. What sets it by itself is found by sets.
func (s *skeleton) gets(place int, name string) bool {
	before, behind := s.code[max(0, place-maxTold):place], s.code[place+len(name):]
	if sets(behind) && !strings.HasPrefix(strings.TrimLeft(behind, " \t"), "<<") {
		// The last of several, [a, b] = …, has the same behind it as one alone.
		head := strings.TrimRight(before, " \t*$@%&")
		return head != "" && head[len(head)-1] == ',' && together.MatchString(before)
	}
	return binds.MatchString(before) || bound.MatchString(behind) || s.setAmong(before, behind)
}

// setAmong says whether a loop sets a variable, or a statement that sets several, by what stands before and behind it.
func (s *skeleton) setAmong(before, behind string) bool {
	if together.MatchString(before) && alike.MatchString(behind) {
		return true
	}
	loop := loopBegins.FindString(before)
	switch {
	case loop == "":
		return false
	case s.language == "php":
		return listed.MatchString(loop) // foreach (LIST as VARIABLE)
	case s.language == "perl":
		return !strings.Contains(loop, "(")
	}
	return !listed.MatchString(loop)
}

// assignedByText says whether code in a string, which the code runs as its own, sets a variable.
func (s *skeleton) assignedByText(name string) bool {
	if !interprets.MatchString(s.worth(interprets)) {
		return false
	}
	for _, l := range s.literals {
		for place := range places(l.text, name) {
			if sets(l.text[place+len(name):]) {
				return true
			}
		}
	}
	return false
}

// isSet says whether a variable is set so many times, and gets no value otherwise: as a parameter, or by a loop.
func (s *skeleton) isSet(name string, times int) bool {
	if !s.looks(2 * len(s.code)) {
		return false
	}
	for place := range places(s.code, name) {
		if s.gets(place, name) {
			return false
		}
		if sets(s.code[place+len(name):]) {
			times--
		}
	}
	return times == 0
}

// setOnce says whether a variable is set once, and gets no value otherwise.
func (s *skeleton) setOnce(name string) bool {
	times := 0
	for place := range places(s.code, name) {
		if behind := s.code[place+len(name):]; sets(behind) && !addsList.MatchString(behind) {
			times++
		}
		if times > 1 || s.gets(place, name) {
			return false
		}
	}
	return times == 1 && !s.assignedByText(name)
}

// altered says whether code changes a string where it is: $c =~ s/a/b/, c.sub!("a", "b").
func (s *skeleton) altered(language, name string) bool {
	if language != "perl" && language != "ruby" {
		return false
	}
	if name == "$_" {
		return true // loops, map and much else set it
	}
	if language == "perl" && (strings.Contains(s.code, `\`+name) || becomes.MatchString(s.code) && strings.Contains(s.code, "*"+strings.TrimLeft(name, "$@"))) {
		return true // by a reference to it
	}
	if name[0] == '@' && strings.Contains(s.code, "$"+name[1:]+"[") {
		return true // one of its elements
	}
	for place := range places(s.code, name) {
		if alters.MatchString(s.code[place+len(name):]) || altersNext.MatchString(s.code[max(0, place-maxTold):place]) {
			return true
		}
		if behind := setWithin.FindString(s.code[place+len(name):]); behind != "" && alters.MatchString(s.code[place+len(name)+len(behind):]) {
			return true // it is set in brackets, and changed behind them
		}
	}
	return false
}
