package isolation

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
)

// The Landlock launcher runs in a sandbox between bubblewrap and the program. It confines itself by Landlock to the
// paths that the mount view shows, and executes the program. If a mount or a descriptor shows too much, Landlock still
// refuses it. The launcher has to run after bubblewrap, because a confined process may not mount.
//
// This process writes the launcher: some 200 instructions, followed by the rules. Another way would cost a start of this
// program, or of a helper that would have to be installed. The code is in landlock_launcher_linux_*.s.

// Addresses of a launcher in memory: its start, and the offset of its table. The .s files repeat both.
const (
	launcherBase  = 0x400000
	launcherTable = 0x1000
)

// landlockLauncherRule grants rights to a path and everything below.
type landlockLauncherRule struct {
	path   string
	rights uint64
}

// buildLandlockLauncher returns the ELF image of a launcher that applies rules and executes program; nil on
// unsupported architectures.
func buildLandlockLauncher(attr landlockRulesetAttr, rules []landlockLauncherRule, program string) []byte {
	code := landlockLauncherCode()
	if len(code) == 0 {
		return nil
	}
	const complaint = "picoclaw: the program could not be confined by Landlock, or not be started\n"
	texts := launcherBase + launcherTable + uint64(6+2*len(rules)+1)*8 // behind the table
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

	image := bytes.NewBuffer(launcherELFHeader(launcherTable + 8*len(words) + len(behind)))
	image.Write(code)
	image.Write(make([]byte, launcherTable-image.Len()))
	_ = binary.Write(image, binary.LittleEndian, words) // a buffer takes everything
	image.Write(behind)
	return image.Bytes()
}

// launcherELFHeader returns the ELF header of a launcher: one read-only segment, and a stack that is not executable.
func launcherELFHeader(size int) []byte {
	const headers = 64 + 2*56
	ident := [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)}
	var b bytes.Buffer
	for _, part := range []any{
		elf.Header64{
			Ident: ident, Type: uint16(elf.ET_EXEC), Machine: uint16(elfMachine), Version: uint32(elf.EV_CURRENT),
			Entry: launcherBase + headers, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 2,
		},
		elf.Prog64{
			Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Vaddr: launcherBase, Paddr: launcherBase,
			Filesz: uint64(size), Memsz: uint64(size), Align: 0x10000,
		},
		elf.Prog64{Type: uint32(elf.PT_GNU_STACK), Flags: uint32(elf.PF_R | elf.PF_W), Align: 16},
	} {
		_ = binary.Write(&b, binary.LittleEndian, part) // a buffer takes everything
	}
	return b.Bytes()
}
