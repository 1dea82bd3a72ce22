package isolation

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"slices"
)

// The stage is what runs in a sandbox between bubblewrap and the program. It confines itself by Landlock to what the
// mount view shows, and becomes the program: should a mount or a descriptor ever show more than was meant, Landlock
// still refuses it. It has to come after bubblewrap, because nobody who is confined may mount.
//
// It is a program of its own that this process writes, some 200 instructions with its rules behind them, because any
// other way costs a start: of this program again, or of a helper that would have to be installed. What it does stands
// in stage_linux_*.s, a file for each architecture.

// Where the stage is in memory, and where in it the table stands. stage_linux_*.s knows both.
const (
	stageBase  = 0x400000
	stageTable = 0x1000
)

// stageRule grants rights to a path and everything below.
type stageRule struct {
	path   string
	rights uint64
}

// stageProgram returns the ELF image of the stage for a program; nil on unsupported architectures.
func stageProgram(attr rulesetAttr, rules []stageRule, program string) []byte {
	code := stageCode()
	if len(code) == 0 {
		return nil
	}
	const complaint = "picoclaw: the program could not be confined by Landlock, or not be started\n"
	texts := stageBase + stageTable + uint64(6+2*len(rules)+1)*8 // behind the table
	var words []uint64
	var behind []byte
	text := func(s string) uint64 {
		at := texts + uint64(len(behind))
		behind = append(append(behind, s...), 0)
		return at
	}
	words = append(words, attr.files, attr.net, attr.scoped, text(program), text(complaint), uint64(len(complaint)))
	for _, r := range rules {
		words = append(words, text(r.path), r.rights)
	}
	words = append(words, 0)

	image := bytes.NewBuffer(stageHeader(stageTable + 8*len(words) + len(behind)))
	image.Write(code)
	image.Write(make([]byte, stageTable-image.Len()))
	_ = binary.Write(image, binary.LittleEndian, words) // a buffer takes everything
	image.Write(behind)
	return image.Bytes()
}

// stageHeader returns the ELF header: one read-only segment, and a stack that is not executable.
func stageHeader(size int) []byte {
	const headers = 64 + 2*56
	ident := [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)}
	var b bytes.Buffer
	for _, part := range []any{
		elf.Header64{
			Ident: ident, Type: uint16(elf.ET_EXEC), Machine: uint16(stageMachine), Version: uint32(elf.EV_CURRENT),
			Entry: stageBase + headers, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 2,
		},
		elf.Prog64{
			Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Vaddr: stageBase, Paddr: stageBase,
			Filesz: uint64(size), Memsz: uint64(size), Align: 0x10000,
		},
		elf.Prog64{Type: uint32(elf.PT_GNU_STACK), Flags: uint32(elf.PF_R | elf.PF_W), Align: 16},
	} {
		_ = binary.Write(&b, binary.LittleEndian, part) // a buffer takes everything
	}
	return b.Bytes()
}

// stageEnd marks the end of the code in stage_linux_*.s; the bytes are no instruction.
var stageEnd = []byte("end of stage    ")

// trimCode removes everything after the code.
func trimCode(code []byte) []byte {
	if n := bytes.Index(code, stageEnd); n >= 0 {
		return slices.Clone(code[:n])
	}
	return nil
}
