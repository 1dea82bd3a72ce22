package isolation

import (
	"maps"
	"slices"

	"golang.org/x/sys/unix"
)

// callRules are the rules of a filter by the number of the call that they are about. Each call's end with an answer.
type callRules map[uint32][]unix.SockFilter

// on sets the rules for one call.
func (calls callRules) on(number uint32, rules ...unix.SockFilter) { calls[number] = rules }

// search finds the rules for the call whose number was loaded, and allows it if there are none. It halves the numbers
// at every step: when a filter is set the kernel runs it for each call that there is, to note those that are always
// allowed, and that is paid for with every command that is started.
func search(calls callRules) []unix.SockFilter {
	return searchAmong(slices.Sorted(maps.Keys(calls)), calls)
}

// searchedOneByOne is how many numbers are compared one after another, which is shorter than to halve them.
const searchedOneByOne = 4

func searchAmong(numbers []uint32, calls callRules) []unix.SockFilter {
	if len(numbers) > searchedOneByOne {
		half := len(numbers) / 2
		below, from := searchAmong(numbers[:half], calls), searchAmong(numbers[half:], calls)
		return slices.Concat([]unix.SockFilter{jump(unix.BPF_JGE, numbers[half], 0, 1), skip(len(below))}, below, from)
	}
	var f []unix.SockFilter
	for _, number := range numbers {
		rules := calls[number]
		f = append(f, jump(unix.BPF_JEQ, number, 0, uint8(len(rules))))
		f = append(f, rules...)
	}
	return append(f, answer(allowed))
}

// skip leaves out any number of instructions; a jump that compares can only leave out 255.
func skip(instructions int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: uint32(instructions)}
}
