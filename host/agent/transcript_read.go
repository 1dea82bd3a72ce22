package agent

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/picoclaw/picoclaw/internal/filelock"
	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// parsedTranscript is the content of a transcript file.
type parsedTranscript struct {
	head       *transcriptHeader
	messages   []Message
	missing    []Message // made-up results for calls at the end that have none
	validBytes int       // size of complete lines
	repairs    []string
}

// lineStart is the text that each line of a transcript begins with.
const lineStart = `{"time":`

// parseTranscript parses a transcript file. It drops an incomplete last line. Other invalid lines are errors, since
// the conversation would be different without them.
func parseTranscript(data []byte) (*parsedTranscript, error) {
	r := &parsedTranscript{}
	for number := 1; r.validBytes < len(data); number++ {
		text, rest, ended := bytes.Cut(data[r.validBytes:], []byte("\n"))
		var l transcriptLine
		err := json.Unmarshal(text, &l)
		begun := bytes.HasPrefix(text, []byte(lineStart[:min(len(text), len(lineStart))])) // no line of zeros
		if begun && (!ended || err != nil && len(rest) == 0) {
			r.repairs = append(r.repairs, fmt.Sprintf("the last line was incomplete; its %d bytes were removed", len(text)))
			break
		}
		if err == nil {
			err = r.addLine(l)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w; remove the line, or delete the session", number, err)
		}
		r.validBytes += len(text) + 1
	}
	r.repairCallResults()
	return r, nil
}

func (r *parsedTranscript) addLine(l transcriptLine) error {
	switch {
	case (l.Head != nil) != (r.head == nil):
		return errors.New("only the first line may be the header")
	case l.Head != nil:
		if l.Head.Version != transcriptVersion {
			return fmt.Errorf("the file has version %d, but this program reads %d", l.Head.Version, transcriptVersion)
		}
		r.head = l.Head
	case l.Context != nil:
		if l.Context.Kept < 0 || l.Context.Kept > len(r.messages) {
			return fmt.Errorf("it retains %d of %d messages", l.Context.Kept, len(r.messages))
		}
		r.messages = append([]Message{l.Context.Message}, r.messages[len(r.messages)-l.Context.Kept:]...)
	case l.Message != nil:
		r.messages = append(r.messages, *l.Message)
	}
	return nil
}

// unknownResult is the result of calls that were running when the process ended.
const unknownResult = "picoclaw ended before this call had a result. It is unknown whether the call had effects: check " +
	"before you repeat it."

// repairCallResults gives each call exactly one result, as models require.
func (r *parsedTranscript) repairCallResults() {
	var all []Message
	lost, made := 0, 0
	for i := 0; i < len(r.messages); {
		m := r.messages[i]
		i++
		if m.Role == ToolResult {
			lost++
			continue
		}
		all = append(all, m)
		results := make(map[string]Message)
		for ; len(m.Calls) > 0 && i < len(r.messages) && r.messages[i].Role == ToolResult; i++ {
			if _, twice := results[r.messages[i].CallID]; twice {
				lost++
				continue
			}
			results[r.messages[i].CallID] = r.messages[i]
		}
		for _, c := range m.Calls {
			result, ok := results[c.ID]
			delete(results, c.ID)
			switch {
			case ok:
				all = append(all, result)
				continue
			case i == len(r.messages):
				r.missing = append(r.missing, Message{Role: ToolResult, CallID: c.ID, Text: unknownResult, Failed: true})
			default:
				all = append(all, Message{Role: ToolResult, CallID: c.ID, Text: unknownResult, Failed: true})
			}
			made++
		}
		lost += len(results)
	}
	if made > 0 {
		r.repairs = append(r.repairs, fmt.Sprintf("%d calls had no result; their outcome is reported to the model as unknown", made))
	}
	if lost > 0 {
		r.repairs = append(r.repairs, fmt.Sprintf("%d results without a call were removed", lost))
	}
	r.messages = all
}

// readTranscriptHeader reads the first line of a file.
func readTranscriptHeader(path string) (*transcriptHeader, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|filelock.NoFollow|filelock.NonBlock, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	text, err := bufio.NewReaderSize(file, 64<<10).ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	var l transcriptLine
	if err := json.Unmarshal(text, &l); err != nil || l.Head == nil {
		return nil, errors.New("not a session file")
	}
	return l.Head, nil
}

// fileExtension is the extension of transcript files.
const fileExtension = ".jsonl"

// windowsDevices are reserved names on Windows, with any extension.
var windowsDevices = lazyregexp.New(`^(con|prn|aux|nul|com[0-9]|lpt[0-9])$`)

// maxNameLength is a length of names that every file system accepts, also with the extension.
const maxNameLength = 200

// transcriptFileName returns the file name for a key. Names are unique even on case-insensitive file systems.
func transcriptFileName(key string) string {
	var name strings.Builder
	for _, b := range []byte(key) {
		if 'a' <= b && b <= 'z' || '0' <= b && b <= '9' || b == '-' || b == '_' {
			name.WriteByte(b)
		} else {
			fmt.Fprintf(&name, "%%%02x", b)
		}
	}
	safe := name.String()
	switch {
	case safe == "":
		safe = "%"
	case windowsDevices().MatchString(safe):
		safe = fmt.Sprintf("%%%02x%s", safe[0], safe[1:])
	case len(safe) > maxNameLength:
		safe = fmt.Sprintf("%s%%%%%x", safe[:maxNameLength/2], sha256.Sum256([]byte(key)))
	}
	return safe + fileExtension
}
