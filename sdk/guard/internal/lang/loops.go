package lang

import (
	"iter"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

var (
	// loopOver is a loop over a list, by the variables that it sets; eachOf is one by a method of the list, which stands before them.
	loopOver = pattern.New(`\bfor(?:each)?\s*\(?\s*(?:const\s+|let\s+|var\s+|my\s+)?([\[({]?\s*\$?\w+(?:\s*,\s*\w+)*\s*[\])}]?)\s*(?:\s(?:in|of)\s|\s)\s*([@\w]+|[\[(])`)
	eachOf   = pattern.New(`(\w+|\])\s*\.\s*(?:each|forEach|map|flatMap)\s*(?:\(\s*(?:async\s*)?|\bdo\s*\||\{\s*\|)\s*([(\[]*\s*\w+(?:\s*,\s*\w+)*)\s*[)\]]*\s*(?:=>|\|)`)
	foreach  = pattern.New(`\bforeach\s*\(\s*(\$\w+|\[[^\[\]]*\])\s+as\s+(?:\$\w+\s*=>\s*)?(\$\w+)\s*\)`)
	// eachRecord is one by a method of the list that takes members out of each table in it.
	eachRecord = pattern.New(`(\w+|\])\s*\.\s*(?:forEach|map|flatMap)\s*\(\s*(?:async\s*)?\(\s*(\{\s*\w+(?:\s*,\s*\w+)*)\s*\}\s*(?:,\s*\w+\s*)?\)\s*=>`)
	// ofTable is the list that Node makes of a table.
	ofTable = pattern.New(`^\s*\.\s*(values|entries)\s*\(\s*(\w+)\s*\)`)
	// overAll is what stands behind a list that a loop goes over, all of it or a part.
	overAll = pattern.New(`^[ \t]*(?:\[[^\[\]]*:[^\[\]]*\])?(?:\s*\.\s*(?:values|items|entries|slice|freeze)\b(?:\([^()]*\))?)?[ \t]*(?:[:)\]};{\n]|(?:for|async|do)\b|if\b(?:[^\ne]|e[^\nl]|el[^\ns]|els[^\ne])*(?:[:)\]\n]|$)|$)`)
)

// loop is a loop over a list: what it sets, and whether that are the values of a table.
type loop struct {
	targets string
	list    string // as it is written, or the variable that holds it; "" if something else is made of it
	values  bool
}

// loops are those of the code.
func (s *skeleton) loops() iter.Seq[loop] {
	return func(yield func(loop) bool) {
		for _, m := range loopOver.FindAllStringSubmatchIndex(s.code) {
			l := loop{s.code[m[2]:m[3]], s.code[m[4]:m[5]], strings.HasPrefix(s.code[m[5]:], ".values()")}
			behind := s.code[m[5]:]
			if of := ofTable.FindStringSubmatch(behind); l.list == "Object" && of != nil {
				l.list, l.values, behind = of[2], of[1] == "values", behind[len(of[0]):]
			}
			if l.list == "[" || l.list == "(" {
				l.list = s.whole(m[4])
			} else if !overAll.MatchString(behind) {
				l.list = ""
			}
			if !yield(l) {
				return
			}
		}
		for _, m := range append(eachOf.FindAllStringSubmatchIndex(s.code), eachRecord.FindAllStringSubmatchIndex(s.code)...) {
			l := loop{targets: s.code[m[4]:m[5]], list: s.code[m[2]:m[3]]}
			if open := opening(s.code[:m[3]]); l.list == "]" && open >= 0 {
				l.list = s.code[open:m[3]]
			} else if m[2] > 0 && s.code[m[2]-1] == '.' && !strings.HasSuffix(s.code[:m[2]], "...") {
				l.list = ""
			}
			if !yield(l) {
				return
			}
		}
		for _, m := range foreach.FindAllStringSubmatch(s.code) {
			if !yield(loop{targets: m[2], list: m[1]}) {
				return
			}
		}
	}
}
