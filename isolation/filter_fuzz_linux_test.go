//go:build amd64 || arm64

package isolation

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// decide runs a filter as the kernel does, for the instructions that filters are made of.
func decide(t *testing.T, f syscallFilter, number, arch uint32, args [6]uint64) uint32 {
	t.Helper()
	var loaded uint32
	for at := 0; at < len(f); at++ {
		in := f[at]
		var so bool
		switch in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			switch {
			case in.K == offsetNumber:
				loaded = number
			case in.K == offsetArch:
				loaded = arch
			case in.K >= offsetArgument && (in.K-offsetArgument)%8 == 0 && in.K < offsetArgument+48:
				loaded = uint32(args[(in.K-offsetArgument)/8])
			case in.K > offsetArgument && (in.K-offsetArgument)%8 == 4 && in.K < offsetArgument+48:
				loaded = uint32(args[(in.K-offsetArgument)/8] >> 32)
			default:
				t.Fatalf("instruction %d loads from %d", at, in.K)
			}
			continue
		case unix.BPF_RET | unix.BPF_K:
			return in.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			so = loaded == in.K
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			so = loaded&in.K != 0
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			so = loaded >= in.K
		case unix.BPF_JMP | unix.BPF_JA:
			at += int(in.K)
			continue
		default:
			t.Fatalf("instruction %d is unknown: %#x", at, in.Code)
		}
		if so {
			at += int(in.Jt)
		} else {
			at += int(in.Jf)
		}
	}
	t.Fatal("the filter has no answer")
	return 0
}

// Whatever a call is, the filter has an answer; high halves of arguments change nothing; another architecture gets
// nothing; what is refused always is, and what no rule is about never. A pointer is the one argument of which both
// halves count.
func FuzzFilter(f *testing.F) {
	f.Add(uint32(unix.SYS_IOCTL), uint32(auditArch), uint64(0), uint64(unix.TIOCSTI), uint64(0), uint64(1)<<32, true)
	f.Add(uint32(unix.SYS_SOCKET), uint32(auditArch), uint64(unix.AF_VSOCK), uint64(1), uint64(0), uint64(1)<<40, false)
	f.Add(uint32(unix.SYS_CLONE), uint32(auditArch), uint64(unix.CLONE_NEWUSER), uint64(0), uint64(0), uint64(1)<<63, true)
	f.Add(uint32(unix.SYS_KEYCTL), uint32(0), uint64(0), uint64(0), uint64(0), uint64(0), false)
	about := slices.Concat(refusedCalls, forkCalls, []uint32{unix.SYS_MEMFD_CREATE, unix.SYS_EXECVEAT, unix.SYS_CLONE,
		unix.SYS_CLONE3, unix.SYS_UNSHARE, unix.SYS_IOCTL, unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_OPENAT2,
		unix.SYS_PRLIMIT64},
		sysvCalls)
	for _, call := range slices.Concat(chmodCalls, archChmodCalls) {
		about = append(about, call.number)
	}
	for _, call := range schedulingCalls {
		about = append(about, call.number)
	}
	f.Add(uint32(unix.SYS_FCHMOD), uint32(auditArch), uint64(3), uint64(0o4755), uint64(0), uint64(1)<<32, true)
	f.Add(uint32(unix.SYS_PRLIMIT64), uint32(auditArch), uint64(9), uint64(0), uint64(1)<<32, uint64(0), true)
	f.Fuzz(func(t *testing.T, number, arch uint32, a, b, c, high uint64, all bool) {
		calls := newSyscallFilter(filterOptions{programs: all, processes: all, internet: all, ownNamespaces: all})
		got := decide(t, calls, number, arch, [6]uint64{a, b, c})
		high &^= 1<<32 - 1
		if with := decide(t, calls, number, arch, [6]uint64{a ^ high, b ^ high, c ^ high}); with != got &&
			number != unix.SYS_PRLIMIT64 {
			t.Errorf("call %d (%#x %#x %#x): %#x, and with high bits %#x", number, a, b, c, got, with)
		}
		switch {
		case arch == auditArch && number == unix.SYS_FCHMOD && b&unix.S_ISUID != 0 && got != actionDeny,
			arch == auditArch && number == unix.SYS_FCHMOD && b&unix.S_ISGID != 0 && got == actionAllow:
			t.Errorf("mode %o: %#x", b, got)
		case arch == auditArch && number == unix.SYS_PRLIMIT64 && (got == actionDeny) != (uint32(a) != 0 && c != 0):
			t.Errorf("limit of %d by %#x: %#x", a, c, got)
		case arch != auditArch:
			if got != actionKill {
				t.Errorf("another architecture: %#x", got)
			}
		case number&foreignBit != 0:
			if got != actionNoSyscall {
				t.Errorf("call %#x: %#x", number, got)
			}
		case slices.Contains(refusedCalls, number):
			if got != actionDeny {
				t.Errorf("call %d: %#x", number, got)
			}
		case !slices.Contains(about, number):
			if got != actionAllow {
				t.Errorf("call %d: %#x", number, got)
			}
		}
	})
}
