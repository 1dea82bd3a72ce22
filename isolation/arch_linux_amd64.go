package isolation

import (
	"debug/elf"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/mutation"
)

const (
	auditArch = unix.AUDIT_ARCH_X86_64
	// foreignBit marks the calls of a third architecture, x32, which shares this one's name but not its numbers.
	foreignBit = 0x40000000
)

var archRefusedCalls = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB}

// forkCalls are the system calls besides clone that start a process.
var forkCalls = []uint32{unix.SYS_FORK, unix.SYS_VFORK}

// archChmodCalls are system calls of this architecture that set a file mode.
var archChmodCalls = []fileModeSyscall{{unix.SYS_CHMOD, 1, -1}, {unix.SYS_CREAT, 1, -1}, {unix.SYS_MKNOD, 1, -1},
	{unix.SYS_OPEN, 2, 1}}

// archChownCalls are system calls of this architecture that set a file's owner.
var archChownCalls = []chownCall{{unix.SYS_CHOWN, 1}, {unix.SYS_LCHOWN, 1}}

// archMutationCalls are system calls of this architecture that change files.
var archMutationCalls = []mutationSyscall{
	{unix.SYS_RENAMEAT, mutation.Rename, 0, 1, 2, 3, noArgument, neverFollow},
	{unix.SYS_OPEN, mutation.Write, noArgument, 0, noArgument, noArgument, 1, followAsOpened},
	{unix.SYS_CREAT, mutation.Write, noArgument, 0, noArgument, noArgument, noArgument, followAsOpened},
	{unix.SYS_UNLINK, mutation.Remove, noArgument, 0, noArgument, noArgument, noArgument, neverFollow},
	{unix.SYS_RMDIR, mutation.Remove, noArgument, 0, noArgument, noArgument, noArgument, neverFollow},
	{unix.SYS_RENAME, mutation.Rename, noArgument, 0, noArgument, 1, noArgument, neverFollow},
	{unix.SYS_LINK, mutation.Link, noArgument, 0, noArgument, 1, noArgument, neverFollow},
	{unix.SYS_SYMLINK, mutation.Make, noArgument, 1, noArgument, noArgument, noArgument, neverFollow},
	{unix.SYS_MKDIR, mutation.Make, noArgument, 0, noArgument, noArgument, noArgument, neverFollow},
	{unix.SYS_MKNOD, mutation.Make, noArgument, 0, noArgument, noArgument, noArgument, neverFollow},
	{unix.SYS_CHMOD, mutation.Attribute, noArgument, 0, noArgument, noArgument, noArgument, alwaysFollow},
	{unix.SYS_CHOWN, mutation.Attribute, noArgument, 0, noArgument, noArgument, noArgument, alwaysFollow},
	{unix.SYS_LCHOWN, mutation.Attribute, noArgument, 0, noArgument, noArgument, noArgument, neverFollow},
	{unix.SYS_UTIME, mutation.Attribute, noArgument, 0, noArgument, noArgument, noArgument, alwaysFollow},
	{unix.SYS_UTIMES, mutation.Attribute, noArgument, 0, noArgument, noArgument, noArgument, alwaysFollow},
	{unix.SYS_FUTIMESAT, mutation.Attribute, 0, 1, noArgument, noArgument, noArgument, alwaysFollow},
}

// archMemoryArguments are the memory arguments of this architecture's own calls.
var archMemoryArguments = []memoryArgument{
	{unix.SYS_SYMLINK, 0, 0, noArgument},
	{unix.SYS_UTIME, 1, int(unsafe.Sizeof(unix.Utimbuf{})), noArgument},
	{unix.SYS_UTIMES, 1, 2 * int(unsafe.Sizeof(unix.Timeval{})), noArgument},
	{unix.SYS_FUTIMESAT, 2, 2 * int(unsafe.Sizeof(unix.Timeval{})), noArgument},
}

// archMkdir, archMknod and archChmod are the system call numbers of mkdir, mknod and chmod.
const archMkdir, archMknod, archChmod = unix.SYS_MKDIR, unix.SYS_MKNOD, unix.SYS_CHMOD

// elfMachine is this architecture's number in an ELF header.
const elfMachine = elf.EM_X86_64
