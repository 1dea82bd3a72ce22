package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/versions"
	"github.com/picoclaw/picoclaw/sdk"
)

type fileStatInput struct {
	Path string `json:"path" jsonschema:"Path to inspect" claim:"read"`
}

type fileStatOutput struct {
	Path        string   `json:"path"`
	Name        string   `json:"name"`
	Type        string   `json:"type" jsonschema:"file, dir or other; for a symbolic link, of its target"`
	SizeBytes   int64    `json:"size_bytes"`
	Modified    float64  `json:"modified" jsonschema:"Seconds since 1970"`
	Created     *float64 `json:"created" jsonschema:"Seconds since 1970; null if unknown to the file system"`
	Permissions string   `json:"permissions" jsonschema:"Such as 0o644"`
	IsSymlink   bool     `json:"is_symlink"`
	LinkTarget  string   `json:"link_target,omitempty"`
	Links       uint64   `json:"links,omitempty" jsonschema:"Number of hard links, if more than one"`
	Etag        string   `json:"etag,omitempty" jsonschema:"Etag of a file of at most 8 MiB, for if_match of a change"`
}

func newFileStatTool() sdk.Tool {
	return sdk.NewTool("file_stat", "Get file or directory metadata.",
		func(_ context.Context, req *sdk.Request[fileStatInput]) (fileStatOutput, error) {
			s, err := req.Workspace.FileStatus(req.Args.Path)
			if err != nil {
				return fileStatOutput{}, newPathFailureError("inspect file", req.Args.Path, err)
			}
			out := fileStatOutput{
				Path:        s.Path,
				Name:        filepath.Base(s.Path),
				Type:        fileType(s.Info),
				SizeBytes:   s.Info.Size(),
				Modified:    unixSeconds(s.Info.ModTime()),
				Permissions: fmt.Sprintf("0o%o", s.Info.Mode().Perm()),
				IsSymlink:   s.Link != "",
				LinkTarget:  s.Link,
			}
			if !s.Created.IsZero() {
				created := unixSeconds(s.Created)
				out.Created = &created
			}
			if s.Info.Mode().IsRegular() {
				if s.Links > 1 {
					out.Links = s.Links
				}
				out.Etag = smallFileEtag(req.Environment, req.Args.Path, s.Info.Size())
			}
			return out, nil
		},
		sdk.Traits{
			ReadOnly: true, Sets: []string{picoclawSet, moduleSet}, Permissions: []string{"fs.read"}, Risk: "low",
		})
}

// smallFileEtag returns the etag of a short readable file; empty for other files.
func smallFileEtag(env sdk.Environment, path string, size int64) string {
	if size > maxInMemory {
		return ""
	}
	f, err := env.Workspace.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	etag, err := versions.ComputeReaderEtag(f)
	if err != nil {
		return ""
	}
	return etag
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }
