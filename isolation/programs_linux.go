package isolation

import (
	"debug/elf"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// libraryDirs are the system directories with libraries and data. A child with a list of programs can read only these,
// since the dynamic linker could execute any readable program.
var libraryDirs = []string{
	"/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/local/lib", "/usr/share", "/lib", "/lib32", "/lib64",
	"/libx32", "/nix/store",
}

// programDirs are searched for programs that are named without a path.
var programDirs = []string{"/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"}

// systemRights returns the Landlock rights to system directories by path.
func (p Profile) systemRights() map[string]uint64 {
	rights := map[string]uint64{}
	if len(p.Programs) == 0 {
		for _, dir := range systemDirs {
			rights[dir] = runTree
		}
		return rights
	}
	for _, dir := range libraryDirs {
		rights[dir] = readTree
	}
	for _, program := range p.Programs {
		if info, err := os.Stat(program); err == nil && filepath.IsAbs(program) && info.IsDir() {
			rights[program] = runTree
			continue
		}
		_, path, ok := findProgram(program)
		if !ok {
			continue // a machine need not have them all
		}
		rights[path] = readFile | unix.LANDLOCK_ACCESS_FS_EXECUTE
		if linker := dynamicLinkerPath(path); linker != "" {
			rights[linker] = readFile | unix.LANDLOCK_ACCESS_FS_EXECUTE
		}
	}
	return rights
}

// findProgram returns the path and resolved path of a system program.
func findProgram(name string) (path, real string, ok bool) {
	candidates := []string{name}
	if !filepath.IsAbs(name) {
		candidates = candidates[:0]
		for _, dir := range programDirs {
			candidates = append(candidates, filepath.Join(dir, name))
		}
	}
	for _, path := range candidates {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		if info, err := os.Stat(real); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return path, real, true
		}
	}
	return "", "", false
}

// dynamicLinkerPath returns the resolved path of a program's dynamic linker; empty for a static program.
func dynamicLinkerPath(path string) string {
	file, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	for _, segment := range file.Progs {
		if segment.Type != elf.PT_INTERP || segment.Filesz < 2 || segment.Filesz > 4096 {
			continue
		}
		name := make([]byte, segment.Filesz-1) // without the NUL
		if _, err := segment.ReadAt(name, 0); err != nil {
			return ""
		}
		real, err := filepath.EvalSymlinks(string(name))
		if err != nil {
			return ""
		}
		return real
	}
	return ""
}
