package lang

import (
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/pattern"
)

// reordering are methods that take something out of a list, or put it in another order.
var reordering = names(`pop sort reverse clear remove shift splice fill copyWithin`)

// setElement is what stands behind a list one of whose elements is set.
var setElement = pattern.New(`^\s*\[\s*(\d+)\s*\]\s*=\s*("\d+")`)

// maxGrown is how many uses of a list are looked at for what is added to it.
const maxGrown = 64

// grown is a list with what the code adds to it. False if it takes something out, or changes the order.
func (s *skeleton) grown(name, list string) (string, bool) {
	times := 0
	for place := range places(s.code, name) {
		if times++; times > maxGrown {
			break
		}
		behind := s.code[place+len(name):]
		added, first := "", false
		m := memberOf.FindStringSubmatch(behind)
		if m == nil {
			m = make([]string, 2)
		}
		before := strings.TrimRight(s.code[:place], " (")
		if m := setElement.FindStringSubmatch(behind); m != nil {
			list = withElement(list, m[1], m[2])
			continue
		}
		switch {
		case addsList.MatchString(behind):
			added = s.region(place + len(name) + strings.IndexByte(behind, '=') + 1)
		case reordering[m[1]], m[1] == "length" && sets(behind[strings.Index(behind, m[1])+len(m[1]):]), goesOnAs.MatchString(behind) && beingSet.MatchString(before):
			return list, false
		case storing[m[1]]:
			added = s.region(place + len(name) + len(m[0]))
			first = m[1] == "unshift" || m[1] == "insert" && !behindFirst.MatchString(added)
			if first && !stringsOnly.MatchString(added) {
				return list, false
			}
		case strings.HasSuffix(before, "push"), strings.HasSuffix(before, "unshift"):
			added, first = s.region(place), strings.HasSuffix(before, "unshift") // as Perl has it
		}
		elements := s.addedBy(m[1], added)
		switch all := strings.Join(elements, ","); {
		case all == "":
		case first:
			list = list[:1] + all + "," + list[1:]
		default:
			list = list[:len(list)-1] + "," + all + list[len(list)-1:]
		}
	}
	return list, true
}

// addsList is what stands behind a list that another one of strings is added to.
var addsList = pattern.New(`^\s*\+=\s*[\[(]\s*"\d+"(?:\s*,\s*"\d+")*\s*,?\s*[\])]`)

// goesOnAs is what stands behind a variable that another one is set to.
var goesOnAs = pattern.New(`^[ \t]*(?:[;\n)]|$)`)

// behindFirst are the arguments of a method that inserts something behind the first element of a list.
var behindFirst = pattern.New(`^\s*\(\s*[1-9]`)

// stringsOnly are the arguments of a method that puts nothing but strings in front of a list.
var stringsOnly = pattern.New(`^\s*\(\s*(?:-?\d+\s*,\s*)?"\d+"(?:\s*,\s*"\d+")*\s*\)$`)

// withElement is a list with another element at an index, or behind the last one.
func withElement(list, index, element string) string {
	elements := values.FindAllString(list)
	if at, err := strconv.Atoi(index); err == nil && at < len(elements) {
		elements[at] = element
	} else {
		elements = append(elements, element)
	}
	return list[:1] + strings.Join(elements, ",") + list[len(list)-1:]
}

// addedBy are the elements that a method adds by these arguments: strings and variables as they stand, anything else as a name that nothing
// has set.
func (s *skeleton) addedBy(method, args string) (elements []string) {
	args = strings.TrimSpace(args)
	if args == "" {
		return nil
	}
	if args[0] != '[' && args[0] != '(' {
		args = "(" + args + ")"
	}
	given := elementsOf(args)
	switch method {
	case "": // what stands behind +=, or Perl's push, behind the list
		if len(given) > 0 && strings.HasPrefix(strings.TrimSpace(given[0]), "@") {
			given = given[1:]
		}
	case "insert": // at an index
		given = given[min(1, len(given)):]
	case "splice": // from an index on, and instead of so many
		given = given[min(2, len(given)):]
	}
	if len(given) == 1 && method == "extend" {
		if list := strings.TrimSpace(given[0]); list != "" && (list[0] == '[' || list[0] == '(') {
			given = elementsOf(list)
		}
	}
	for _, element := range given {
		switch element = strings.TrimSpace(element); {
		case plainString.MatchString(element), plainVariable.MatchString(element) && method != "extend":
			elements = append(elements, element)
		case s.language == "python" || s.language == "node":
			elements = append(elements, unheld)
		default:
			elements = append(elements, "$"+unheld)
		}
	}
	return elements
}

// unheld is the name of no variable.
const unheld = "_unheld"

var (
	plainString   = pattern.New(`^"\d+"$`)
	plainVariable = pattern.New(`^[$]?[A-Za-z_]\w*$`)
)
