package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// prepareProgramHome writes the preset's settings and the person's git identity to the program's HOME. It follows no
// symlinks, since the program can write there.
func prepareProgramHome(dir string, v presetVariables, p *ProgramPreset) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	home, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = home.Close() }()
	for _, settings := range p.Settings {
		if err := settings.write(home, v); err != nil {
			return fmt.Errorf("write %s: %w", filepath.Join(dir, settings.File), err)
		}
	}
	return writeGitIdentity(home)
}

// write writes the file, or sets the members of the JSON object in it.
func (s *PresetSettings) write(home *os.Root, v presetVariables) error {
	if len(s.Lines) > 0 {
		return writeSettingsFile(home, s.File, v.escapeForQuotes().expandText(strings.Join(s.Lines, "\n")))
	}
	values, _ := v.expandValue(s.Values).(map[string]any)
	return mergeSettingsFile(home, s.File, values)
}

// mergeSettingsFile sets members of the JSON object in a file.
func mergeSettingsFile(home *os.Root, name string, values map[string]any) error {
	all := map[string]any{}
	text, err := home.ReadFile(name)
	if err == nil {
		if err = json.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &all); err != nil {
			return fmt.Errorf("it is no JSON object: %w", err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	mergeObjects(all, values)
	if text, err = json.MarshalIndent(all, "", "  "); err != nil {
		return err
	}
	return writeSettingsFile(home, name, string(text))
}

// writeSettingsFile writes a text and a line break, and creates the file's directory.
func writeSettingsFile(home *os.Root, name, text string) error {
	if err := home.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return home.WriteFile(name, []byte(text+"\n"), 0o600)
}

// mergeObjects sets the values in a JSON object. It merges nested objects.
func mergeObjects(into, values map[string]any) {
	for name, value := range values {
		inner, isObject := value.(map[string]any)
		existing, wasObject := into[name].(map[string]any)
		if isObject && wasObject {
			mergeObjects(existing, inner)
		} else {
			into[name] = value
		}
	}
}

// writeGitIdentity copies the person's name and email address for commits, unless the program's HOME has git settings.
func writeGitIdentity(home *os.Root) error {
	const name = ".gitconfig"
	if _, err := home.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var text strings.Builder
	for _, key := range []string{"name", "email"} {
		cmd := exec.Command("git", "config", "--global", "user."+key)
		cmd.Dir = "/" // no repository
		value, err := cmd.Output()
		if err != nil {
			continue // there is no git, or nothing is set
		}
		if text.Len() == 0 {
			text.WriteString("[user]\n")
		}
		quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.TrimSpace(string(value)))
		fmt.Fprintf(&text, "\t%s = \"%s\"\n", key, quoted)
	}
	if text.Len() == 0 {
		return nil
	}
	return home.WriteFile(name, []byte(text.String()), 0o600)
}

// guidanceFiles returns the instruction files (such as CLAUDE.md) in the directories above a project.
func (p *ProgramPreset) guidanceFiles(project string) (files []string) {
	for dir := filepath.Dir(project); ; dir = filepath.Dir(dir) {
		for _, name := range p.Guidance {
			path := filepath.Join(dir, name)
			if real, err := filepath.EvalSymlinks(path); err != nil || real != path {
				continue
			}
			if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
				files = append(files, path)
			}
		}
		if dir == filepath.Dir(dir) {
			return files
		}
	}
}
