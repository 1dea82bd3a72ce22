// Package bundle has a fleet's machines take one configuration, which somebody has signed.
//
// A bundle is a configuration and its minisign signature, as plugins have them; the signature's trusted comment says
// for which tenant it is and which number it has. It lies in a bucket of NATS, and nobody on the way can change it: a
// machine takes what one of the keys has signed that its own configuration trusts, whose number is not below the one
// that it had, and which is no fault together with that configuration. A rollback is an earlier configuration signed
// anew under a higher number, so that numbers never go back.
//
// The package must not know what a configuration means, nor how a host takes it: it puts it where host/config reads
// it, and tells its caller.
package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"aead.dev/minisign"
)

// Bundle is a configuration with its signature.
type Bundle struct {
	Config    []byte `json:"config"`
	Signature []byte `json:"signature"`
}

// maxConfig is as much as a message of NATS takes, with its signature and as JSON.
const maxConfig = 512 << 10

// Comment is the trusted comment with which a configuration has to be signed for a tenant.
func Comment(tenant string, serial uint64) string {
	return fmt.Sprintf("picoclaw tenant:%s serial:%d", tenant, serial)
}

// Sign signs a configuration for a tenant.
func Sign(key minisign.PrivateKey, config []byte, tenant string, serial uint64) *Bundle {
	// It is hashed first, as minisign has it unless it is told otherwise.
	r := minisign.NewReader(bytes.NewReader(config))
	_, _ = io.Copy(io.Discard, r) // from memory
	comment := Comment(tenant, serial)
	return &Bundle{Config: config, Signature: r.SignWithComments(key, comment, comment)}
}

// Serial is the number that the signature says, whoever has made it, and the tenant that it is for.
func (b *Bundle) Serial() (tenant string, serial uint64, err error) {
	var s minisign.Signature
	if err := s.UnmarshalText(b.Signature); err != nil {
		return "", 0, errors.New("it has no signature of minisign's")
	}
	fields := strings.Fields(s.TrustedComment)
	if len(fields) == 3 && fields[0] == "picoclaw" {
		of, named := strings.CutPrefix(fields[1], "tenant:")
		text, numbered := strings.CutPrefix(fields[2], "serial:")
		if number, err := strconv.ParseUint(text, 10, 63); named && numbered && of != "" && err == nil && number > 0 {
			return of, number, nil
		}
	}
	return "", 0, fmt.Errorf("its signature says %q, and not for whom it is and which number it has, as in %q",
		s.TrustedComment, Comment("main", 1))
}

// Verify reports the number of a bundle that one of the keys has signed for a tenant. Keys are the second lines of
// minisign's .pub files.
func (b *Bundle) Verify(trust []string, tenant string) (serial uint64, err error) {
	of, serial, err := b.Serial()
	if err != nil {
		return 0, err
	}
	if len(b.Config) > maxConfig {
		return 0, fmt.Errorf("it is larger than %d bytes", maxConfig)
	}
	for _, text := range trust {
		var key minisign.PublicKey
		if err := key.UnmarshalText([]byte(text)); err != nil {
			return 0, fmt.Errorf("fleet.trust: %q is not a minisign public key", text)
		}
		if !minisign.Verify(key, b.Config, b.Signature) {
			continue
		}
		if of != tenant {
			return 0, fmt.Errorf("it was signed for tenant %s, and this is one of tenant %s", of, tenant)
		}
		return serial, nil
	}
	return 0, errors.New("none of the keys in fleet.trust has signed it")
}
