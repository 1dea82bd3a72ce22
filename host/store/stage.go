package store

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/picoclaw/picoclaw/internal/smallfile"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Limits of a package.
const (
	maxFiles         = 4096
	maxPackageBytes  = 1 << 30
	maxManifestBytes = 4 << 20
)

// StagedPackage is a plugin to install. Its files are in the store's staging directory, so that the inspected files are
// the installed ones. Call Discard if it is not installed.
type StagedPackage struct {
	PluginVersion
	Manifest *pluginpb.Manifest

	dir string
}

// StagePackage copies a package, a directory or an archive (.tar.gz, .tgz or .zip), into the staging directory. It
// checks the package and its signature, and executes nothing.
func (s *Store) StagePackage(source string, keys SignaturePolicy) (*StagedPackage, error) {
	source, err := filepath.Abs(source)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(source)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no %s; name the directory or the archive of a plugin", source)
	}
	if err != nil {
		return nil, err
	}
	return s.StagePackageFunc(source, func(p *StagedPackage) error {
		switch {
		case !info.IsDir():
			return p.unpackArchive(source, keys)
		case keys.Required:
			return errors.New("a directory has no signature, and signatures.required is set; install the signed archive")
		default:
			return p.copyPackageDir(source)
		}
	})
}

// StagePackageFunc calls fill to write the files of a package, and checks the package. source is its origin.
func (s *Store) StagePackageFunc(source string, fill func(*StagedPackage) error) (*StagedPackage, error) {
	if err := s.makePrivateDir(s.PluginsDir()); err != nil {
		return nil, err
	}
	if err := s.CheckPermissions(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(s.PluginsDir(), ".staging-")
	if err != nil {
		return nil, err
	}
	p := &StagedPackage{PluginVersion: PluginVersion{Source: source}, dir: dir}
	err = fill(p)
	if err == nil {
		err = p.loadManifest()
	}
	if err != nil {
		p.Discard()
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return p, nil
}

// StagingDir returns the staging directory of the package.
func (p *StagedPackage) StagingDir() string { return p.dir }

// errNoManifest is the error of a package without a manifest.
var errNoManifest = fmt.Errorf("there is no %s in it; a plugin's `make build` puts one beside its binary, and `describe` prints it", pluginpb.ManifestFile)

// Discard removes the package from the staging directory.
func (p *StagedPackage) Discard() { _ = os.RemoveAll(p.dir) }

// loadManifest reads the manifest, and finds the program for this machine.
func (p *StagedPackage) loadManifest() error {
	data, err := readLimitedFile(filepath.Join(p.dir, pluginpb.ManifestFile), maxManifestBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return errNoManifest
	}
	if err != nil {
		return err
	}
	if p.Manifest, err = pluginpb.ParseManifest(data); err != nil {
		return fmt.Errorf("its %s: %w", pluginpb.ManifestFile, err)
	}
	for _, spec := range p.Manifest.AllSpecs() {
		if err = spec.CheckSchemas(); err != nil {
			return fmt.Errorf("its %s: %w", pluginpb.ManifestFile, err)
		}
	}
	if err = p.Manifest.Protocol.Check(); err != nil {
		return err
	}
	if p.Version = p.Manifest.Version; !isSafePathElement(p.Version) {
		return fmt.Errorf("its version %q is no version, such as 1.2.0", p.Version)
	}
	if p.Files, p.Data, err = hashPackageFiles(p.dir); err != nil {
		return err
	}
	return p.setBinary()
}

// setBinary finds the program for this machine: the program that the manifest names, or the file with the plugin's id
// as its name.
func (p *StagedPackage) setBinary() error {
	if p.Program != "" {
		return nil
	}
	here := runtime.GOOS + "/" + runtime.GOARCH
	p.Binary = pluginpb.PluginProgramName(p.Manifest.ID, runtime.GOOS)
	if len(p.Manifest.Platforms) > 0 {
		named, ok := p.Manifest.Platforms[here]
		if !ok {
			return fmt.Errorf("it has no program for %s", here)
		}
		p.Binary = path.Clean(named.Path)
		if got := p.Files[p.Binary]; got != "" && got != strings.ToLower(named.SHA256) {
			return fmt.Errorf("its program %s is not the one that its %s speaks of (SHA-256 %s, not %s)", p.Binary,
				pluginpb.ManifestFile, got, named.SHA256)
		}
	}
	if p.Files[p.Binary] == "" {
		return fmt.Errorf("its program %s is missing", p.Binary)
	}
	info, err := os.Stat(filepath.Join(p.dir, filepath.FromSlash(p.Binary)))
	if err != nil {
		return err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o100 == 0 {
		return fmt.Errorf("its program %s is not executable; run `chmod +x` on it", p.Binary)
	}
	return nil
}

func (p *StagedPackage) copyPackageDir(source string) error {
	root, err := os.OpenRoot(source)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if _, err := root.Lstat(pluginpb.ManifestFile); errors.Is(err, fs.ErrNotExist) {
		return errNoManifest // before copying, since it may be any directory
	}
	w := packageWriter{dir: p.dir}
	return fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir():
			return nil
		case !e.Type().IsRegular():
			return fmt.Errorf("%s is no file; a package has files and directories only", name)
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		return w.addFile(name, info.Mode(), f)
	})
}

// packageWriter writes the files of a package, and enforces the limits.
type packageWriter struct {
	dir   string
	files int
	bytes int64
}

func (w *packageWriter) addFile(name string, mode fs.FileMode, contents io.Reader) error {
	if !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsAny(name, "\\\x00\n") {
		return fmt.Errorf("%q is no name for a file of a package", name)
	}
	if w.files++; w.files > maxFiles {
		return fmt.Errorf("it has more than %d files", maxFiles)
	}
	to := filepath.Join(w.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	perm := fs.FileMode(0o400)
	if mode.Perm()&0o100 != 0 {
		perm = 0o500
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.LimitReader(contents, maxPackageBytes-w.bytes+1))
	if w.bytes += n; err == nil && w.bytes > maxPackageBytes {
		err = fmt.Errorf("it is larger than %d bytes", maxPackageBytes)
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// DataDir is the directory of a package's data. The program reads it in the store. All other files are copied and
// verified at each start.
const DataDir = "data"

// hashPackageFiles returns the SHA-256 of every file below a directory by slash-separated path, and one hash of all
// files in DataDir.
func hashPackageFiles(dir string) (hashes map[string]string, data string, err error) {
	hashes = map[string]string{}
	var names strings.Builder // sorted names of data files with modes and hashes
	err = filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, at)
		if err != nil {
			return err
		}
		if !e.Type().IsRegular() {
			return fmt.Errorf("%s is no file", name)
		}
		sum, err := hashFile(at)
		if name = filepath.ToSlash(name); !strings.HasPrefix(name, DataDir+"/") {
			hashes[name] = sum
			return err
		}
		info, statErr := e.Info()
		if statErr == nil {
			fmt.Fprintf(&names, "%q %t %s\n", name, info.Mode().Perm()&0o100 != 0, sum)
		}
		return errors.Join(err, statErr)
	})
	if names.Len() > 0 {
		data = hashBytes([]byte(names.String()))
	}
	return hashes, data, err
}

// HashDataDir returns the SHA-256 of the data directory in a package; empty if there is none.
func HashDataDir(dir string) (string, error) {
	_, data, err := hashPackageFiles(dir)
	return data, err
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func readLimitedFile(path string, most int64) ([]byte, error) {
	data, err := smallfile.Read(path, most)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return data, nil
}

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
	if _, err = f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	switch name := strings.ToLower(source); {
	case strings.HasSuffix(name, ".tar.gz"), strings.HasSuffix(name, ".tgz"):
		err = p.unpackTar(f)
	case strings.HasSuffix(name, ".zip"):
		err = p.unpackZip(f)
	default:
		err = errors.New("it is neither a directory nor an archive (.tar.gz, .tgz or .zip)")
	}
	if err != nil {
		return err
	}
	return p.removeTopDir()
}

// removeTopDir moves the files out of a single top directory.
func (p *StagedPackage) removeTopDir() error {
	entries, err := os.ReadDir(p.dir)
	if err != nil || len(entries) != 1 || !entries[0].IsDir() {
		return err
	}
	aside := p.dir + ".top"
	if err := os.Rename(filepath.Join(p.dir, entries[0].Name()), aside); err != nil {
		return err
	}
	return errors.Join(os.Remove(p.dir), os.Rename(aside, p.dir))
}

func (p *StagedPackage) unpackTar(f *os.File) error {
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	archive, w := tar.NewReader(io.LimitReader(z, 2*maxPackageBytes)), packageWriter{dir: p.dir}
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
			if err := w.addFile(path.Clean(h.Name), h.FileInfo().Mode(), archive); err != nil {
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
		err = w.addFile(path.Clean(file.Name), file.Mode(), r)
		if err = errors.Join(err, r.Close()); err != nil {
			return err
		}
	}
	return nil
}
