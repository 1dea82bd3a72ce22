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

// readout is what a transcript's file says.
type readout struct {
	head     *head
	messages []Message
	missing  []Message // results that calls at the end have not got, made up
	whole    int       // how many bytes are lines; the rest is one that was not finished
	repairs  []string
}

// readTranscript reads a file. A last line that was not finished is left out. Anything else that is no line of ours is
// an error: to go on without it would be another conversation.
func readTranscript(data []byte) (*readout, error) {
	r := &readout{}
	for number := 1; r.whole < len(data); number++ {
		text, rest, ended := bytes.Cut(data[r.whole:], []byte("\n"))
		var l line
		err := json.Unmarshal(text, &l)
		if !ended || err != nil && len(rest) == 0 {
			r.repairs = append(r.repairs, fmt.Sprintf("the last line was not finished; its %d bytes were taken away", len(text)))
			break
		}
		if err == nil {
			err = r.add(l)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w; take the line away, or delete the session", number, err)
		}
		r.whole += len(text) + 1
	}
	r.repair()
	return r, nil
}

func (r *readout) add(l line) error {
	switch {
	case (l.Head != nil) != (r.head == nil):
		return errors.New("the first line, and no other, says what the file is")
	case l.Head != nil:
		if l.Head.Version != transcriptVersion {
			return fmt.Errorf("the file is of version %d, and this program reads %d", l.Head.Version, transcriptVersion)
		}
		r.head = l.Head
	case l.Context != nil:
		if l.Context.Kept < 0 || l.Context.Kept > len(r.messages) {
			return fmt.Errorf("it keeps %d of %d messages", l.Context.Kept, len(r.messages))
		}
		r.messages = append([]Message{l.Context.Message}, r.messages[len(r.messages)-l.Context.Kept:]...)
	case l.Message != nil:
		r.messages = append(r.messages, *l.Message)
	}
	return nil
}

// unknownResult is the result of a call that was under way when its process ended.
const unknownResult = "picoclaw ended before this call had a result. Whether it was made is not known: look before you " +
	"repeat it."

// repair gives each call its one result: models refuse a conversation without.
func (r *readout) repair() {
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
		r.repairs = append(r.repairs, fmt.Sprintf("%d calls had no result; the model is told that it is not known", made))
	}
	if lost > 0 {
		r.repairs = append(r.repairs, fmt.Sprintf("%d results belong to no call; they were left out", lost))
	}
	r.messages = all
}

// readHead reads the first line of a file.
func readHead(path string) (*head, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|filelock.NoFollow|filelock.NonBlock, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	text, err := bufio.NewReaderSize(file, 64<<10).ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	var l line
	if err := json.Unmarshal(text, &l); err != nil || l.Head == nil {
		return nil, errors.New("not the file of a session")
	}
	return l.Head, nil
}

// extension is that of the files.
const extension = ".jsonl"

// devices are names that are no files on Windows, with any extension.
var devices = lazyregexp.New(`^(con|prn|aux|nul|com[0-9]|lpt[0-9])$`)

// longestName is what every file system takes, with the extension.
const longestName = 200

// fileName is the name of a key's file. No two keys have the same, also where file systems do not tell 'a' from 'A'.
func fileName(key string) string {
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
	case devices().MatchString(safe):
		safe = fmt.Sprintf("%%%02x%s", safe[0], safe[1:])
	case len(safe) > longestName:
		safe = fmt.Sprintf("%s%%%%%x", safe[:longestName/2], sha256.Sum256([]byte(key)))
	}
	return safe + extension
}
