package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// sdkModule is the module that the SDK is in.
const sdkModule = "github.com/picoclaw/picoclaw"

// modulesFile lists, in the sources, the modules that the SDK needs.
const modulesFile = "sdk/modules.txt"

// SDK is what a plugin is built with: a released version, or the sources in a directory.
type SDK struct {
	Version string
	Source  string
}

// described is what `git describe` adds to a tag when the sources are not exactly the tag's.
var described = lazyregexp.New(`-[0-9]+-g[0-9a-f]+$|-dirty$|-dev$`)

// Released reports whether a version of picoclaw is one that everybody can get.
func Released(version string) bool {
	return semver.IsValid(version) && semver.Canonical(version) == version && !described().MatchString(version)
}

// CheckSource says what is wrong with a directory that should have the sources of the SDK.
func CheckSource(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err == nil && modfile.ModulePath(data) != sdkModule {
		return fmt.Errorf("%s has the module %s, not picoclaw's sources", dir, modfile.ModulePath(data))
	}
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, filepath.FromSlash(modulesFile)))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s does not have picoclaw's sources (any more)", dir)
	}
	return err
}

// writeModule writes go.mod and, for local sources, go.sum.
func (s SDK) writeModule(dir, path string) ([]string, error) {
	mod := &modfile.File{}
	if err := mod.AddModuleStmt(path); err != nil {
		return nil, err
	}
	if s.Source != "" {
		return s.writeFromSource(dir, mod)
	}
	if version := strings.TrimPrefix(runtime.Version(), "go"); modfile.GoVersionRE.MatchString(version) {
		if err := mod.AddGoStmt(version); err != nil {
			return nil, err
		}
	}
	if err := mod.AddRequire(sdkModule, s.Version); err != nil {
		return nil, err
	}
	return writeModule(dir, mod, nil)
}

// writeFromSource lists all that the SDK needs as the sources have it, so that nothing has to be fetched.
func (s SDK) writeFromSource(dir string, mod *modfile.File) ([]string, error) {
	name := filepath.Join(s.Source, "go.mod")
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	theirs, err := modfile.Parse(name, data, nil)
	if err != nil {
		return nil, err
	}
	sums, err := os.ReadFile(filepath.Join(s.Source, "go.sum"))
	if err != nil {
		return nil, err
	}
	list, err := os.ReadFile(filepath.Join(s.Source, filepath.FromSlash(modulesFile)))
	if err != nil {
		return nil, err
	}
	if theirs.Go != nil {
		if err := mod.AddGoStmt(theirs.Go.Version); err != nil {
			return nil, err
		}
	}
	// A version that says that it is none: what counts is the replacement.
	requires := []*modfile.Require{{Mod: module.Version{Path: sdkModule, Version: "v0.0.0"}}}
	needed := strings.Fields(string(list))
	for _, r := range theirs.Require {
		if slices.Contains(needed, r.Mod.Path) {
			requires = append(requires, &modfile.Require{Mod: r.Mod, Indirect: true})
		}
	}
	mod.SetRequireSeparateIndirect(requires)
	if err := mod.AddReplace(sdkModule, "", s.Source, ""); err != nil {
		return nil, err
	}
	return writeModule(dir, mod, sums)
}

func writeModule(dir string, mod *modfile.File, sums []byte) ([]string, error) {
	mod.Cleanup()
	text, err := mod.Format()
	if err != nil {
		return nil, err
	}
	names := []string{"go.mod"}
	if err = os.WriteFile(filepath.Join(dir, "go.mod"), text, 0o644); err != nil {
		return nil, err
	}
	if sums != nil {
		names = append(names, "go.sum")
		err = os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o644)
	}
	return names, err
}
