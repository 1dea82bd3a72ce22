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

// sdkModule is the path of the module with the SDK.
const sdkModule = "github.com/picoclaw/picoclaw"

// modulesFile, in picoclaw's sources, lists the modules that the SDK requires.
const modulesFile = "sdk/modules.txt"

// SDKSource is the SDK that a plugin is built with: a released version, or the sources in a directory.
type SDKSource struct {
	Version string
	Source  string
}

// gitDescribeSuffix matches a suffix in the output of `git describe`: the sources differ from the tagged release.
var gitDescribeSuffix = lazyregexp.New(`-[0-9]+-g[0-9a-f]+$|-dirty$|-dev$`)

// IsReleaseVersion reports whether a version of picoclaw is a release that anybody can download.
func IsReleaseVersion(version string) bool {
	return semver.IsValid(version) && semver.Canonical(version) == version && !gitDescribeSuffix().MatchString(version)
}

// CheckSourceDir returns an error if a directory does not contain picoclaw's sources.
func CheckSourceDir(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err == nil && modfile.ModulePath(data) != sdkModule {
		return fmt.Errorf("%s has the module %s, not picoclaw's sources", dir, modfile.ModulePath(data))
	}
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, filepath.FromSlash(modulesFile)))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s does not have picoclaw's sources", dir)
	}
	return err
}

// writeGoMod writes a plugin's go.mod and, for local sources, go.sum.
func (s SDKSource) writeGoMod(dir, path string) ([]string, error) {
	mod := &modfile.File{}
	if err := mod.AddModuleStmt(path); err != nil {
		return nil, err
	}
	if s.Source != "" {
		return s.writeLocalGoMod(dir, mod)
	}
	if version := strings.TrimPrefix(runtime.Version(), "go"); modfile.GoVersionRE.MatchString(version) {
		if err := mod.AddGoStmt(version); err != nil {
			return nil, err
		}
	}
	if err := mod.AddRequire(sdkModule, s.Version); err != nil {
		return nil, err
	}
	return writeModuleFiles(dir, mod, nil)
}

// writeLocalGoMod writes a go.mod with the local sources and their module versions, so that nothing is downloaded.
func (s SDKSource) writeLocalGoMod(dir string, mod *modfile.File) ([]string, error) {
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
	return writeModuleFiles(dir, mod, sums)
}

// writeModuleFiles writes go.mod, and go.sum if sums is not nil.
func writeModuleFiles(dir string, mod *modfile.File, sums []byte) ([]string, error) {
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
