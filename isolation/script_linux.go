package isolation

import (
	"bytes"
	"encoding/binary"
)

// A script is a program that makes a few system calls, one after another, and becomes another program with the last. It
// is for what has to happen between the start of a process and bubblewrap, as the stage is for what comes behind it.
// What makes the calls stands in script_linux_*.s, a file for each architecture.
type script struct {
	calls []call
	data  []byte // what the arguments point to
}

// call is one system call: its number and its arguments. A negative result ends the script.
type call [7]uint64

// The table of a script begins with what to say when a call fails, and how long that is. There is room for so many
// calls, so that it is known where the data is that comes behind them.
const (
	scriptHead = 2 * 8
	mostCalls  = 256
	scriptData = stageBase + stageTable + scriptHead + mostCalls*7*8
)

// do adds a system call.
func (s *script) do(number uint64, args ...uint64) {
	c := call{number}
	copy(c[1:], args)
	s.calls = append(s.calls, c)
}

// at adds data for an argument, and returns its address.
func (s *script) at(data []byte) uint64 {
	s.data = append(s.data, make([]byte, -len(s.data)&7)...)
	address := scriptData + uint64(len(s.data))
	s.data = append(s.data, data...)
	return address
}

// words is at for numbers and addresses.
func (s *script) words(words ...uint64) uint64 {
	var data []byte
	for _, w := range words {
		data = binary.NativeEndian.AppendUint64(data, w)
	}
	return s.at(data)
}

// program writes the script, which becomes the program at a path at last, with the arguments that it was started with
// and no environment. It returns nil where there is no code for this architecture, and for too many calls.
func (s *script) program(path, complaint string) []byte {
	code := scriptCode()
	if len(code) == 0 || len(s.calls) >= mostCalls {
		return nil
	}
	const last = ^uint64(0)
	s.do(last, s.at(append([]byte(path), 0)), 0, s.words(0))
	head := []uint64{s.at([]byte(complaint)), uint64(len(complaint))}
	image := bytes.NewBuffer(stageHeader(scriptData - stageBase + len(s.data)))
	image.Write(code)
	image.Write(make([]byte, stageTable-image.Len()))
	_ = binary.Write(image, binary.LittleEndian, head) // a buffer takes everything
	_ = binary.Write(image, binary.LittleEndian, s.calls)
	image.Write(make([]byte, scriptData-stageBase-image.Len()))
	image.Write(s.data)
	return image.Bytes()
}
