package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"aead.dev/minisign"
)

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
