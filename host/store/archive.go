package store

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

// unpackArchive unpacks an archive after it has verified the signature. It omits a single top directory, which release
// archives have.
func (p *StagedPackage) unpackArchive(source string, keys SignaturePolicy) error {
	own := p.dir + ".archive"
	f, err := copyArchive(source, own)
	defer func() { _ = os.Remove(own) }()
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if p.Signer, err = keys.verifySignature(source, f); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	switch name := strings.ToLower(source); {
	case strings.HasSuffix(name, ".tar.gz"), strings.HasSuffix(name, ".tgz"):
		return p.unpackTar(f)
	case strings.HasSuffix(name, ".zip"):
		return p.unpackZip(f)
	}
	return errors.New("it is neither a directory nor an archive (.tar.gz, .tgz or .zip)")
}

func (p *StagedPackage) unpackTar(f *os.File) error {
	var names []string
	err := forEachTarFile(f, func(h *tar.Header, _ io.Reader) error {
		if names = append(names, path.Clean(h.Name)); len(names) > maxFiles {
			return fmt.Errorf("it has more than %d files", maxFiles)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	top, w := commonTopDir(names), packageWriter{dir: p.dir}
	return forEachTarFile(f, func(h *tar.Header, r io.Reader) error {
		return w.addFile(strings.TrimPrefix(path.Clean(h.Name), top), h.FileInfo().Mode(), r)
	})
}

// forEachTarFile calls do for each file in a compressed tar archive.
func forEachTarFile(f io.Reader, do func(*tar.Header, io.Reader) error) error {
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	archive := tar.NewReader(io.LimitReader(z, 2*maxPackageBytes))
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
		switch h.Typeflag {
		case tar.TypeDir, tar.TypeXGlobalHeader:
		case tar.TypeReg:
			if err := do(h, archive); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%s is no file; a package has files and directories only", h.Name)
		}
	}
}

func (p *StagedPackage) unpackZip(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	archive, err := zip.NewReader(f, info.Size())
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	var names []string
	for _, file := range archive.File {
		if !file.Mode().IsDir() {
			names = append(names, path.Clean(file.Name))
		}
	}
	top := commonTopDir(names)
	w := packageWriter{dir: p.dir}
	for _, file := range archive.File {
		switch {
		case file.Mode().IsDir():
			continue
		case !file.Mode().IsRegular():
			return fmt.Errorf("%s is no file; a package has files and directories only", file.Name)
		}
		r, err := file.Open()
		if err != nil {
			return err
		}
		err = w.addFile(strings.TrimPrefix(path.Clean(file.Name), top), file.Mode(), r)
		if err = errors.Join(err, r.Close()); err != nil {
			return err
		}
	}
	return nil
}

// commonTopDir returns the top directory that contains all names, with a slash; empty for none.
func commonTopDir(names []string) string {
	if len(names) == 0 {
		return ""
	}
	top, _, ok := strings.Cut(names[0], "/")
	if !ok {
		return ""
	}
	for _, name := range names {
		if !strings.HasPrefix(name, top+"/") {
			return ""
		}
	}
	return top + "/"
}
