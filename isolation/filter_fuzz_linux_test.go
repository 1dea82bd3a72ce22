package isolation

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// decide runs a filter as the kernel does, for the instructions that filters are made of.
func decide(t *testing.T, f filter, number, arch uint32, args [6]uint64) uint32 {
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
// nothing; what is refused always is, and what no rule is about never.
func FuzzFilter(f *testing.F) {
	if auditArch == 0 {
		f.Skip("this architecture has no filter")
	}
	f.Add(uint32(unix.SYS_IOCTL), uint32(auditArch), uint64(0), uint64(unix.TIOCSTI), uint64(0), uint64(1)<<32, true)
	f.Add(uint32(unix.SYS_SOCKET), uint32(auditArch), uint64(unix.AF_VSOCK), uint64(1), uint64(0), uint64(1)<<40, false)
	f.Add(uint32(unix.SYS_CLONE), uint32(auditArch), uint64(unix.CLONE_NEWUSER), uint64(0), uint64(0), uint64(1)<<63, true)
	f.Add(uint32(unix.SYS_KEYCTL), uint32(0), uint64(0), uint64(0), uint64(0), uint64(0), false)
	about := slices.Concat(refusedCalls, forkCalls, []uint32{unix.SYS_MEMFD_CREATE, unix.SYS_EXECVEAT, unix.SYS_CLONE,
		unix.SYS_CLONE3, unix.SYS_UNSHARE, unix.SYS_IOCTL, unix.SYS_SOCKET, unix.SYS_SOCKETPAIR})
	f.Fuzz(func(t *testing.T, number, arch uint32, a, b, c, high uint64, all bool) {
		calls := newFilter(filterNeeds{programs: all, processes: all, internet: all})
		got := decide(t, calls, number, arch, [6]uint64{a, b, c})
		high &^= 1<<32 - 1
		if with := decide(t, calls, number, arch, [6]uint64{a ^ high, b ^ high, c ^ high}); with != got {
			t.Errorf("call %d (%#x %#x %#x): %#x, and with high bits %#x", number, a, b, c, got, with)
		}
		switch {
		case arch != auditArch:
			if got != kill {
				t.Errorf("another architecture: %#x", got)
			}
		case number&foreignBit != 0:
			if got != absent {
				t.Errorf("call %#x: %#x", number, got)
			}
		case slices.Contains(refusedCalls, number):
			if got != refused {
				t.Errorf("call %d: %#x", number, got)
			}
		case !slices.Contains(about, number):
			if got != allowed {
				t.Errorf("call %d: %#x", number, got)
			}
		}
	})
}
