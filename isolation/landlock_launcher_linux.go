package isolation

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/paths"
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

// landlockLauncherName is the Landlock launcher's file name in a private directory of the sandbox: the root or /dev.
const landlockLauncherName = ".confine"

// planLandlockLauncher returns the Landlock launcher for a plan, and its path in the sandbox; nil without Landlock, on
// unsupported architectures, or if not requested.
//
// If the profile lists programs, Landlock does not restrict reading: the mount view shows no other programs, and checks
// at each open would slow search programs down by a tenth.
func (pl *processStarter) planLandlockLauncher(program string, plan *mountPlan) (image []byte, at string) {
	if pl.landlock == 0 || !plan.profile.Confine {
		return nil, ""
	}
	attr := newRulesetAttr(pl.landlock, true) // a namespace holds the network
	if len(plan.profile.Programs) > 0 && !plan.showsHostPath("/usr/bin") {
		attr.files &^= readTree | unix.LANDLOCK_ACCESS_FS_TRUNCATE // which is asked for at every opening, too
	}
	at = filepath.Join("/", landlockLauncherName)
	if plan.hasMountAt("/dev") {
		at = filepath.Join("/dev", landlockLauncherName)
	}
	return buildLandlockLauncher(attr, plan.landlockLauncherRules(attr.files, program), program), at
}

// landlockLauncherRules converts the mount view to Landlock rules. A rule covers all below a directory, so it does not
// protect a read-only mount inside a writable one: the mount itself does.
func (p *mountPlan) landlockLauncherRules(handled uint64, program string) []landlockLauncherRule {
	read, write := readWriteRights(p.profile)
	rules := []landlockLauncherRule{{"/", unix.LANDLOCK_ACCESS_FS_READ_DIR}}
	if p.profile.Exec {
		for path, rights := range p.profile.systemRights() {
			if !p.showsHostPath(path) {
				continue
			}
			if real, err := filepath.EvalSymlinks(path); err == nil && !p.hasMountAt(path) {
				path = real // a mount of what is above shows the link, and Landlock takes no rule for one
			}
			if _, err := os.Stat(path); err == nil {
				rules = append(rules, landlockLauncherRule{path, plannedMount{source: path}.limitRights(rights)})
			}
		}
	}
	for _, m := range p.mounts {
		switch {
		case m.kind == bindRO && p.profile.Exec && slices.Contains(systemDirs, m.target):
			// said above
		case m.kind == bindRW:
			rules = append(rules, landlockLauncherRule{m.target, m.limitRights(write)})
		case m.kind == bindRO:
			rules = append(rules, landlockLauncherRule{m.target, m.limitRights(read)})
		case m.kind == bindData || m.kind == copied:
			rules = append(rules, landlockLauncherRule{m.target, readFile})
		case m.kind == tmpfs && m.target == "/tmp":
			rules = append(rules, landlockLauncherRule{m.target, write})
		case m.kind == procfs:
			rules = append(rules, landlockLauncherRule{m.target, readTree})
		case m.kind == devfs:
			rules = append(rules, landlockLauncherRule{m.target, readTree | writeFile}, landlockLauncherRule{filepath.Join(m.target, "shm"), write})
		}
	}
	rules = append(rules, landlockLauncherRule{program, readFile | unix.LANDLOCK_ACCESS_FS_EXECUTE})
	for n := range rules {
		rules[n].rights &= handled
	}
	return slices.DeleteFunc(rules, func(r landlockLauncherRule) bool { return r.rights == 0 })
}

// limitRights removes rights that do not apply to the file type of a bind mount.
func (m plannedMount) limitRights(rights uint64) uint64 {
	if info, err := os.Stat(m.source); err == nil && !info.IsDir() {
		return rights & fileRights
	}
	return rights
}

// showsHostPath reports whether a mount shows a host path at the same path.
func (p *mountPlan) showsHostPath(path string) bool {
	return slices.ContainsFunc(p.mounts, func(m plannedMount) bool {
		return m.isBind() && m.source == m.target && paths.Within(m.target, path)
	})
}

// hasMountAt reports whether a mount is exactly at path.
func (p *mountPlan) hasMountAt(path string) bool {
	return slices.ContainsFunc(p.mounts, func(m plannedMount) bool { return m.target == path })
}

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
