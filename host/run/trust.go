package run

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/internal/protect"
	"github.com/picoclaw/picoclaw/internal/smallfile"
	"github.com/picoclaw/picoclaw/internal/statefiles"
)

const maxTrustBytes = 1 << 20 // of the list of trusted projects, and of a project's file

// trustedListName is the name of the file in the home with the digests of trusted files.
const trustedListName = "trusted.json"

// ProjectConfig is the file of a project that narrows the policy of runs, and the person's trust in it.
type ProjectConfig struct {
	Dir, Path string
	Data      []byte
	Digest    string // of Data; empty without a file
	Trusted   string // digest that the person has accepted; empty for none
}

// ReadProjectConfig reads a project's file, and whether it is trusted. A linked work tree has the file of its main work
// tree, since a program can change the branches of other work trees.
func ReadProjectConfig(home, project string) (*ProjectConfig, error) {
	shared, err := protect.FindSharedGitDir(project)
	if err != nil {
		return nil, fmt.Errorf("the git directory of the project: %w", err)
	}
	if shared != nil && filepath.Base(shared.Dir) == protect.GitDir {
		project = filepath.Dir(shared.Dir)
	}
	list, err := readTrustedList(home)
	if err != nil {
		return nil, err
	}
	c := &ProjectConfig{Dir: project, Path: filepath.Join(project, config.ProjectFile), Trusted: list[project]}
	if c.Data, err = smallfile.Read(c.Path, maxTrustBytes); err == nil {
		c.Digest = fmt.Sprintf("%x", sha256.Sum256(c.Data))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the project's settings %s can't be read: %w; replace or remove the file", c.Path, err)
	}
	return c, nil
}

// LoadTrustedProject returns the settings of a project's trusted file; nil without one. A file that was never trusted is
// ignored, and notice says so. A trusted file that has changed or is missing is an error: its limits would be lost.
func LoadTrustedProject(home, project string) (settings *config.Project, notice string, err error) {
	c, err := ReadProjectConfig(home, project)
	switch {
	case err != nil:
		return nil, "", err
	case c.Trusted == "" && c.Digest != "":
		return nil, fmt.Sprintf("%s is not trusted, so it is ignored; review it with `picoclaw trust --project %s`", c.Path, c.Dir), nil
	case c.Digest != c.Trusted:
		return nil, "", fmt.Errorf("the trusted settings %s have changed or are missing; review them with `picoclaw trust --project %s`, "+
			"or remove the trust with --remove", c.Path, c.Dir)
	case c.Digest == "":
		return nil, "", nil
	}
	settings, err = config.ParseProject(c.Path, c.Data)
	return settings, "", err
}

// SetTrust stores the digest of the file that the person accepts; empty removes the trust.
func (c *ProjectConfig) SetTrust(home, digest string) error {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	err := statefiles.UpdateFile(home, trustedListName, func() ([]byte, error) {
		list, err := readTrustedList(home)
		if err != nil {
			return nil, err
		}
		if list[c.Dir] = digest; digest == "" {
			delete(list, c.Dir)
		}
		return json.MarshalIndent(list, "", "  ")
	})
	return cmp.Or(err, statefiles.AddToList(home, filepath.Join(home, trustedListName)))
}

// readTrustedList returns the digests of trusted files, by the project's directory. A home that never had a list has none.
func readTrustedList(home string) (list map[string]string, err error) {
	path := filepath.Join(home, trustedListName)
	if err = statefiles.CheckNotMissing(home, path); err != nil {
		return nil, fmt.Errorf("the list of trusted projects: %w", err)
	}
	data, err := smallfile.Read(path, maxTrustBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]string{}, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err == nil && list == nil {
		err = errors.New("it is no JSON object")
	}
	if err != nil {
		return nil, fmt.Errorf("the list of trusted projects %s can't be read: %w; restore a copy, or remove it and its line in %s, and "+
			"run `picoclaw trust` in each project", path, err, statefiles.StateListPath(home))
	}
	return list, nil
}
