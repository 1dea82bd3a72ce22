package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"aead.dev/minisign"
)

func hashBytes(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

// VerifyPlugin compares every file of an installed plugin with the lock file, and returns the differences as errors.
func (s *Store) VerifyPlugin(id string, pin *InstalledPlugin) []error {
	dir := s.VersionDir(id, pin.Version)
	found, data, err := hashPackageFiles(dir)
	if err != nil {
		return []error{fmt.Errorf("plugin %s: %w", id, err)}
	}
	var problems []error
	all := maps.Clone(found)
	maps.Copy(all, pin.Files)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if found[name] != pin.Files[name] {
			problems = append(problems, &ChangedFileError{id, name})
		}
	}
	if data != pin.Data {
		problems = append(problems, &ChangedFileError{id, DataDir})
	}
	err = filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		return checkOnlyOwnerWrites(at, info)
	})
	if err = errors.Join(s.CheckPermissions(), err); err != nil {
		problems = append(problems, err)
	}
	return problems
}

// VerifyProgram compares only the program with the lock file. It is cheaper than [Store.VerifyPlugin].
func (s *Store) VerifyProgram(id string, pin *InstalledPlugin) error {
	if pin.Program != "" {
		return nil
	}
	found, err := hashFile(filepath.Join(s.VersionDir(id, pin.Version), filepath.FromSlash(pin.Binary)))
	if err != nil {
		return fmt.Errorf("plugin %s: %w; install it again", id, err)
	}
	if found != pin.Files[pin.Binary] {
		return &ChangedFileError{id, pin.Binary}
	}
	return nil
}

// CopyVerifiedFiles copies a plugin's files to a private directory, and checks the copies against files, the hashes in
// the lock file.
func CopyVerifiedFiles(id, from, to string, files map[string]string) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return fmt.Errorf("plugin %s: %w; install it again", id, err)
	}
	defer func() { _ = root.Close() }()
	for name, want := range files {
		if err := copyVerifiedFile(root, filepath.FromSlash(name), to, want); err != nil {
			if errors.Is(err, errDiffers) {
				return &ChangedFileError{id, name}
			}
			return fmt.Errorf("plugin %s: %w; install it again", id, err)
		}
	}
	return nil
}

var errDiffers = errors.New("it differs")

func copyVerifiedFile(root *os.Root, name, to, want string) error {
	in, err := root.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errDiffers
	}
	target := filepath.Join(to, name)
	if err = os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	out, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()&0o500|0o400)
	if err != nil {
		return err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, h), in)
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	if hex.EncodeToString(h.Sum(nil)) != want {
		return errDiffers
	}
	return nil
}

// ReadVerifiedFile returns a verified file of a version of a plugin.
func (s *Store) ReadVerifiedFile(id string, v *PluginVersion, name string) ([]byte, error) {
	data, err := readLimitedFile(filepath.Join(s.VersionDir(id, v.Version), filepath.FromSlash(name)), maxManifestBytes)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w; install it again, or remove it with `picoclaw plugin remove %s`", id, err, id)
	}
	if hashBytes(data) != v.Files[name] {
		return nil, &ChangedFileError{id, name}
	}
	return data, nil
}

// signatureSuffix is appended to an archive's name for its minisign signature.
const signatureSuffix = ".minisig"

// SignaturePolicy are the public keys that may sign packages.
type SignaturePolicy struct {
	Public   []string // minisign keys, as in the second line of a .pub file
	Required bool     // refuse packages without a valid signature
}

func (k SignaturePolicy) parsePublicKeys() ([]minisign.PublicKey, error) {
	keys := make([]minisign.PublicKey, len(k.Public))
	for i, text := range k.Public {
		if err := keys[i].UnmarshalText([]byte(text)); err != nil {
			return nil, fmt.Errorf("signatures.keys: %q is not a minisign public key", text)
		}
	}
	if k.Required && len(keys) == 0 {
		return nil, errors.New("signatures.required is set, and signatures.keys names no key")
	}
	return keys, nil
}

// verifySignature verifies the prehashed minisign signature next to an archive. contents is the copy of the archive
// that will be unpacked. It returns the key's id, or "" if there is no signature and none is required.
func (k SignaturePolicy) verifySignature(source string, contents io.Reader) (signer string, err error) {
	keys, err := k.parsePublicKeys()
	if err != nil {
		return "", err
	}
	signature, err := readLimitedFile(source+signatureSuffix, 16<<10)
	switch {
	case errors.Is(err, fs.ErrNotExist) && k.Required:
		return "", fmt.Errorf("it is not signed: %s%s is missing, and signatures.required is set", source, signatureSuffix)
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	}
	if len(keys) == 0 {
		return "", nil // no trusted keys
	}
	r := minisign.NewReader(contents)
	if _, err := io.Copy(io.Discard, r); err != nil {
		return "", err
	}
	for _, key := range keys {
		if r.Verify(key, signature) {
			return fmt.Sprintf("%016X", key.ID()), nil
		}
	}
	return "", fmt.Errorf("its signature %s%s is not one of the keys in signatures.keys; do not install it", source,
		signatureSuffix)
}

// copyArchive copies an archive to a private file, so that the verified bytes are the unpacked ones.
func copyArchive(source, to string) (*os.File, error) {
	in, err := os.Open(source)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	n, err := io.Copy(out, io.LimitReader(in, maxPackageBytes+1))
	if err == nil && n > maxPackageBytes {
		err = fmt.Errorf("it is larger than %d bytes", maxPackageBytes)
	}
	if err == nil {
		_, err = out.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return out, nil
}
