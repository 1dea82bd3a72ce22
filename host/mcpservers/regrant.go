package mcpservers

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/picoclaw/picoclaw/host/store"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// ChangeGrants builds a package with the files and tools of an installed version, without a fetch, and spec's grants.
func ChangeGrants(s *store.Store, id string, pin *store.InstalledPlugin, spec *ServerSpec) (*store.StagedPackage, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	manifest, err := s.ReadManifest(id, pin)
	if err != nil {
		return nil, err
	}
	text, err := s.ReadVerifiedFile(id, pin, DefinitionFile)
	if err != nil {
		return nil, err
	}
	d, err := decodeDefinition(text)
	if err != nil {
		return nil, err
	}
	var own []string
	if len(d.Command) > 0 {
		own = append(own, strings.Replace(d.Command[0], "{{data}}", store.DataDir, 1))
	}
	manifest.Grants, d.Asked = spec.buildGrants(own), spec
	fetched, _, _ := strings.Cut(d.Package, " ")
	known, err := lookupKnownServer(fetched)
	for i := range manifest.Tools { // paths need claims as soon as there is a workspace
		err = errors.Join(err, d.claimArguments(&manifest.Tools[i], known.Claims))
	}
	if err != nil {
		return nil, err
	}
	version, _, _ := strings.Cut(manifest.Version, "+")
	p, err := s.BuildPackage(spec.DisplaySource(), func(p *store.StagedPackage) error {
		p.Program = programID
		if pin.Data != "" {
			from := filepath.Join(s.VersionDir(id, pin.Version), store.DataDir)
			if copyErr := os.CopyFS(filepath.Join(p.StagingDir(), store.DataDir), os.DirFS(from)); copyErr != nil {
				return copyErr
			}
		}
		return writeManifestFiles(p.StagingDir(), manifest, d, version)
	})
	if err != nil {
		return nil, err
	}
	p.Agents = spec.Agents
	if p.Data != pin.Data {
		p.Discard()
		return nil, &store.ChangedFileError{Plugin: id, File: store.DataDir}
	}
	return p, nil
}

// claimArguments adds the claims that the server's spec implies to an accepted tool's schema.
func (d *serverDefinition) claimArguments(t *pluginpb.ToolSpec, known map[string]string) error {
	text, err := json.Marshal(t.Input)
	if err != nil {
		return err
	}
	description := &ToolDescription{Name: d.Tools[t.Name].Name}
	description.Annotations.ReadOnly = t.ReadOnly
	if err = json.Unmarshal(text, &description.Input); err != nil {
		return err
	}
	for field, claim := range proposeClaims(d.Asked, description, t.Name, known) {
		if claim != noClaim {
			setSchemaClaim(description.Input, strings.Split(field, "."), claim)
		}
	}
	t.Input, err = parseSchema(description.Input)
	return err
}
