package isolation

import (
	"bytes"
	"encoding/binary"
)

// syscallLauncherBuilder builds a small program that makes a list of system calls and then executes another program. The
// machine code is in syscall_launcher_linux_*.s.
type syscallLauncherBuilder struct {
	calls []launcherSyscall
	data  []byte // target of pointer arguments
}

// launcherSyscall is a system call number with its arguments. If the call fails, the program ends.
type launcherSyscall [7]uint64

// The table of a syscall launcher has a header, maxLauncherCalls calls, and then the data. The header holds the error
// message and its length.
const (
	launcherHeaderBytes = 2 * 8
	maxLauncherCalls    = 256
	launcherDataAddress = launcherBase + launcherTable + launcherHeaderBytes + maxLauncherCalls*7*8
)

// addCall adds a system call.
func (s *syscallLauncherBuilder) addCall(number uint64, args ...uint64) {
	c := launcherSyscall{number}
	copy(c[1:], args)
	s.calls = append(s.calls, c)
}

// addData adds data for an argument, and returns its address.
func (s *syscallLauncherBuilder) addData(data []byte) uint64 {
	s.data = append(s.data, make([]byte, -len(s.data)&7)...)
	address := launcherDataAddress + uint64(len(s.data))
	s.data = append(s.data, data...)
	return address
}

// addNumbers adds numbers as data for an argument, and returns their address.
func (s *syscallLauncherBuilder) addNumbers(words ...uint64) uint64 {
	var data []byte
	for _, w := range words {
		data = binary.NativeEndian.AppendUint64(data, w)
	}
	return s.addData(data)
}

// buildELF returns the ELF image of the launcher, which finally executes path with its own arguments and no
// environment. It returns nil on unsupported architectures and for too many calls.
func (s *syscallLauncherBuilder) buildELF(path, complaint string) []byte {
	code := syscallLauncherCode()
	if len(code) == 0 || len(s.calls) >= maxLauncherCalls {
		return nil
	}
	const last = ^uint64(0)
	s.addCall(last, s.addData(append([]byte(path), 0)), 0, s.addNumbers(0))
	head := []uint64{s.addData([]byte(complaint)), uint64(len(complaint))}
	image := bytes.NewBuffer(launcherELFHeader(launcherDataAddress - launcherBase + len(s.data)))
	image.Write(code)
	image.Write(make([]byte, launcherTable-image.Len()))
	_ = binary.Write(image, binary.LittleEndian, head) // a buffer takes everything
	_ = binary.Write(image, binary.LittleEndian, s.calls)
	image.Write(make([]byte, launcherDataAddress-launcherBase-image.Len()))
	image.Write(s.data)
	return image.Bytes()
}
