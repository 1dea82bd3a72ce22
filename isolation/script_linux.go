package isolation

import (
	"bytes"
	"encoding/binary"
)

// syscallScript is a generated program that makes some system calls and executes another program. Its code is in
// script_linux_*.s for each architecture.
type syscallScript struct {
	calls []syscallEntry
	data  []byte // target of pointer arguments
}

// syscallEntry is a system call number with arguments. A negative result ends the script.
type syscallEntry [7]uint64

// The table of a script begins with what to say when a call fails, and how long that is. There is room for so many
// calls, so that it is known where the data is that comes behind them.
const (
	scriptHead     = 2 * 8
	maxScriptCalls = 256
	scriptData     = stageBase + stageTable + scriptHead + maxScriptCalls*7*8
)

// addCall adds a system call.
func (s *syscallScript) addCall(number uint64, args ...uint64) {
	c := syscallEntry{number}
	copy(c[1:], args)
	s.calls = append(s.calls, c)
}

// addData adds data for an argument, and returns its address.
func (s *syscallScript) addData(data []byte) uint64 {
	s.data = append(s.data, make([]byte, -len(s.data)&7)...)
	address := scriptData + uint64(len(s.data))
	s.data = append(s.data, data...)
	return address
}

// addWords is addData for numbers.
func (s *syscallScript) addWords(words ...uint64) uint64 {
	var data []byte
	for _, w := range words {
		data = binary.NativeEndian.AppendUint64(data, w)
	}
	return s.addData(data)
}

// buildProgram returns the ELF image of the script, which finally executes path with the same arguments and no
// environment. It returns nil on unsupported architectures and for too many calls.
func (s *syscallScript) buildProgram(path, complaint string) []byte {
	code := scriptCode()
	if len(code) == 0 || len(s.calls) >= maxScriptCalls {
		return nil
	}
	const last = ^uint64(0)
	s.addCall(last, s.addData(append([]byte(path), 0)), 0, s.addWords(0))
	head := []uint64{s.addData([]byte(complaint)), uint64(len(complaint))}
	image := bytes.NewBuffer(stageHeader(scriptData - stageBase + len(s.data)))
	image.Write(code)
	image.Write(make([]byte, stageTable-image.Len()))
	_ = binary.Write(image, binary.LittleEndian, head) // a buffer takes everything
	_ = binary.Write(image, binary.LittleEndian, s.calls)
	image.Write(make([]byte, scriptData-stageBase-image.Len()))
	image.Write(s.data)
	return image.Bytes()
}
