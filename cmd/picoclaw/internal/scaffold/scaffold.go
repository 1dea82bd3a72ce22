// Package scaffold creates a new plugin: a Go module that builds and passes its tests.
//
// It must not know how plugins are installed or run.
//
// A released picoclaw uses the SDK of its release. A development build uses the sources that it was built from; their
// path is in the binary. A release contains no path of the build machine.
package scaffold

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"golang.org/x/mod/module"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// PluginSpec describes the plugin to create.
type PluginSpec struct {
	ID       string    // id and program name of the plugin
	Dir      string    // directory to create; it may exist if it is empty
	Module   string    // the Go module's path; example.com/<id> if empty
	SDK      SDKSource // SDK of the plugin's build
	Picoclaw string    // default program of its tests
}

// templateFiles returns a plugin's files with their templates in reading order, except go.mod and go.sum.
func (p *PluginSpec) templateFiles() []templateFile {
	return []templateFile{
		{"main.go", "main.go.tmpl"},
		{"main_test.go", "main_test.go.tmpl"},
		{"README.md", "README.md.tmpl"},
		{"Makefile", "Makefile.tmpl"},
		{".gitignore", "gitignore.tmpl"},
	}
}

type templateFile struct{ name, template string }

//go:embed templates
var templates embed.FS

// Create creates the plugin's directory, completely or not at all, and returns the names of its files.
func (p PluginSpec) Create() (names []string, err error) {
	if err = p.Validate(); err != nil {
		return nil, err
	}
	p.Module = cmp.Or(p.Module, "example.com/"+p.ID)
	parent := filepath.Dir(p.Dir)
	if err = os.MkdirAll(parent, 0o755); err != nil {
		return nil, err
	}
	// It is made beside its place and moved there when it is complete.
	temp, err := os.MkdirTemp(parent, "."+p.ID+"-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	made := filepath.Join(temp, p.ID)
	if err = os.Mkdir(made, 0o755); err != nil {
		return nil, err
	}
	if names, err = p.writeFiles(made); err != nil {
		return nil, err
	}
	if err := os.Remove(p.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) { // it is empty, or not removed
		return nil, err
	}
	return names, os.Rename(made, p.Dir)
}

// Validate returns an error for an invalid id or module path, and for a directory that is not empty.
func (p *PluginSpec) Validate() error {
	if err := pluginpb.CheckPluginID(p.ID); err != nil {
		return err
	}
	if p.Module != "" {
		if err := module.CheckImportPath(p.Module); err != nil {
			return fmt.Errorf("--module: %w", err)
		}
	}
	entries, err := os.ReadDir(p.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%s can't be created: %w; name another directory with --dir", p.Dir, err)
	case len(entries) > 0:
		return fmt.Errorf("%s exists and is not empty; name another directory with --dir, or remove it", p.Dir)
	}
	return nil
}

// writeFiles writes the plugin's files into a directory and returns their names.
func (p *PluginSpec) writeFiles(dir string) ([]string, error) {
	parsed, err := template.ParseFS(templates, "templates/*.tmpl")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range p.templateFiles() {
		var text strings.Builder
		if err = parsed.ExecuteTemplate(&text, f.template, p); err != nil {
			return nil, err
		}
		if err = os.WriteFile(filepath.Join(dir, f.name), []byte(text.String()), 0o644); err != nil {
			return nil, err
		}
		names = append(names, f.name)
	}
	more, err := p.SDK.writeGoMod(dir, p.Module)
	return slices.Concat(names, more), err
}
