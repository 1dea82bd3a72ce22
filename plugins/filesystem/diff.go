package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/text"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

const (
	maxDiffBytes     = 32 << 10 // bytes of a diff that are shown
	maxDiffableBytes = 2 << 20  // bytes of a file that is compared
)

// formatAllDiffs returns the unified diffs of all changed files that the policy allows reading.
func formatAllDiffs(env *sdk.Environment, changed []workspace.PlannedChange) string {
	var b strings.Builder
	for _, c := range changed {
		name := c.Old.Path
		if !isReadAllowed(env, name) {
			fmt.Fprintf(&b, "%s may not be read, so the change is not shown\n", hiddentext.QuoteUnprintable(name))
			continue
		}
		from := name
		if !c.Old.Exists() {
			from = "/dev/null"
		}
		old, err := c.Old.Bytes()
		if err != nil {
			fmt.Fprintf(&b, "%s: %v\n", hiddentext.QuoteUnprintable(name), err)
			continue
		}
		b.WriteString(formatUnifiedDiff(from, name, old, c.Data))
	}
	return b.String()
}

// formatUnifiedDiff returns the unified diff of two versions of a file.
func formatUnifiedDiff(from, to string, old, new []byte) string {
	if max(len(old), len(new)) > maxDiffableBytes {
		return fmt.Sprintf("%s: %d bytes before, %d now; too long to be compared\n", hiddentext.QuoteUnprintable(to), len(old), len(new))
	}
	a, errA := text.DetectEncoding(old).Decode(old)
	b, errB := text.DetectEncoding(new).Decode(new)
	if errA != nil || errB != nil || text.IsBinary([]byte(a)) || text.IsBinary([]byte(b)) {
		return fmt.Sprintf("%s: %d bytes before, %d now; not text\n", hiddentext.QuoteUnprintable(to), len(old), len(new))
	}
	out := udiff.Unified(hiddentext.QuoteUnprintable(from), hiddentext.QuoteUnprintable(to), a, b)
	if len(out) <= maxDiffBytes {
		return out
	}
	cut := out[:maxDiffBytes]
	for !utf8.ValidString(cut[max(0, len(cut)-utf8.UTFMax):]) && len(cut) > maxDiffBytes-utf8.UTFMax {
		cut = cut[:len(cut)-1]
	}
	return fmt.Sprintf("%s\n[%d more bytes of diff]\n", cut, len(out)-len(cut))
}
