package agent

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/picoclaw/picoclaw/internal/filelock"
	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// Transcript is a conversation stored in a file of JSON lines. Complete messages are appended and never overwritten.
// When a summary replaces older messages, a line records that. One process at a time uses a file. A system crash can
// lose only unsynced lines.
type Transcript struct {
	key      string
	file     *os.File // nil for memory only
	size     int64
	messages []Message
	repairs  []string
}

// transcriptLine is a line of the file. Exactly one field is set.
type transcriptLine struct {
	Time    time.Time          `json:"time"`
	Head    *transcriptHeader  `json:"transcript,omitempty"`
	Message *Message           `json:"message,omitempty"`
	Usage   *TokenUsage        `json:"usage,omitempty"` // of an assistant message
	Context *contextCompaction `json:"context,omitempty"`
}

// transcriptHeader is the first line.
type transcriptHeader struct {
	Version int    `json:"version"`
	Key     string `json:"key"`
}

// contextCompaction says that Message replaced all but the last Kept messages.
type contextCompaction struct {
	Kept    int     `json:"kept"`
	Message Message `json:"message"`
	Notice  string  `json:"notice"`
}

// transcriptVersion is the version of the file format.
const transcriptVersion = 1

// NewTranscript returns a conversation in memory.
func NewTranscript() *Transcript { return &Transcript{} }

// OpenTranscript opens or creates the conversation with a key such as "cli:default". It repairs an incomplete file;
// see [Transcript.Repairs].
func OpenTranscript(dir, key string) (*Transcript, error) {
	if !utf8.ValidString(key) {
		return nil, fmt.Errorf("session %q: its name is not UTF-8", key)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of sessions: %w", err)
	}
	file, err := openLockedFile(filepath.Join(dir, transcriptFileName(key)), os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("open session %q: %w", key, err)
	}
	t := &Transcript{key: key, file: file}
	if err := t.loadFile(); err != nil {
		return nil, errors.Join(fmt.Errorf("open session %q: %s: %w", key, file.Name(), err), file.Close())
	}
	return t, nil
}

func (t *Transcript) loadFile() error {
	data, err := io.ReadAll(t.file)
	if err != nil {
		return err
	}
	read, err := parseTranscript(data)
	if err != nil {
		return err
	}
	if read.head != nil && read.head.Key != t.key {
		return fmt.Errorf("it is the file of session %q; move it", read.head.Key)
	}
	t.messages, t.size = read.messages, int64(read.validBytes)
	for _, repair := range read.repairs {
		t.repairs = append(t.repairs, t.file.Name()+": "+repair)
	}
	if read.validBytes < len(data) {
		if err := t.file.Truncate(t.size); err != nil {
			return err
		}
	}
	if read.head == nil {
		if err := t.writeLine(transcriptLine{Head: &transcriptHeader{transcriptVersion, t.key}}); err != nil {
			return err
		}
	}
	for _, m := range read.missing {
		if err := t.AppendMessage(m, nil); err != nil {
			return err
		}
	}
	return nil
}

// Path returns the path of the file; empty without a file.
func (t *Transcript) Path() string {
	if t.file == nil {
		return ""
	}
	return t.file.Name()
}

// Messages returns the current messages. The caller must not change them.
func (t *Transcript) Messages() []Message { return t.messages }

// Repairs returns one sentence for each repair that OpenTranscript made.
func (t *Transcript) Repairs() []string { return t.repairs }

// AppendMessage adds a message and its token usage, if known.
func (t *Transcript) AppendMessage(m Message, used *TokenUsage) error {
	if err := t.writeLine(transcriptLine{Message: &m, Usage: used}); err != nil {
		return err
	}
	t.messages = append(t.messages, m)
	return nil
}

// ReplaceOlderMessages replaces all but the last kept messages with m. It stores the notice as the reason.
func (t *Transcript) ReplaceOlderMessages(kept int, m Message, notice string) error {
	if err := t.writeLine(transcriptLine{Context: &contextCompaction{kept, m, notice}}); err != nil {
		return err
	}
	t.messages = append([]Message{m}, t.messages[len(t.messages)-kept:]...)
	return nil
}

// writeLine appends a complete line. After an error it removes a partial line.
func (t *Transcript) writeLine(l transcriptLine) error {
	if t.file == nil {
		return nil
	}
	l.Time = time.Now().UTC().Truncate(time.Millisecond)
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false)
	if err := out.Encode(l); err != nil {
		return fmt.Errorf("write session %q: %w", t.key, err)
	}
	if _, err := t.file.WriteAt(text.Bytes(), t.size); err != nil {
		return errors.Join(fmt.Errorf("write session %q: %w", t.key, err), t.file.Truncate(t.size))
	}
	t.size += int64(text.Len())
	return nil
}

// Close closes the file.
func (t *Transcript) Close() error {
	if t.file == nil {
		return nil
	}
	return t.file.Close()
}

// TranscriptInfo describes a stored conversation.
type TranscriptInfo struct {
	Key      string
	Path     string
	Modified time.Time
	Bytes    int64
}

// TranscriptPath returns the path of a conversation's file.
func TranscriptPath(dir, key string) string { return filepath.Join(dir, transcriptFileName(key)) }

// ListTranscripts lists the conversations in a directory, the latest first. The error names unreadable files, and the
// other conversations are returned with it.
func ListTranscripts(dir string) ([]TranscriptInfo, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var all []TranscriptInfo
	var broken error
	for _, e := range entries {
		if filepath.Ext(e.Name()) != fileExtension {
			continue
		}
		path := filepath.Join(dir, e.Name())
		about, err := e.Info()
		first, headErr := readTranscriptHeader(path)
		if err != nil || errors.Is(headErr, fs.ErrNotExist) {
			continue // deleted at this moment
		}
		if headErr == nil && transcriptFileName(first.Key) != e.Name() {
			headErr = fmt.Errorf("it is the file of session %q", first.Key)
		}
		if headErr != nil {
			broken = errors.Join(broken, fmt.Errorf("session file %s can't be read: %w; restore a copy, or remove it", path, headErr))
			continue
		}
		all = append(all, TranscriptInfo{first.Key, path, about.ModTime(), about.Size()})
	}
	slices.SortFunc(all, func(a, b TranscriptInfo) int { return b.Modified.Compare(a.Modified) })
	return all, broken
}

// DeleteTranscript deletes a conversation. It returns an error if the conversation is in use.
func DeleteTranscript(dir, key string) error {
	path := filepath.Join(dir, transcriptFileName(key))
	file, err := openLockedFile(path, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no session %q", key)
	}
	if err != nil {
		return fmt.Errorf("delete session %q: %w", key, err)
	}
	err = os.Remove(path) // while locked, if the system allows it
	if closed := file.Close(); err != nil {
		err = errors.Join(closed, os.Remove(path))
	}
	return err
}

func openLockedFile(path string, create int) (*os.File, error) {
	file, err := filelock.OpenLockedFlags(path, os.O_RDWR|create, filelock.Lock)
	if errors.Is(err, filelock.ErrLocked) {
		err = errors.New("another process uses it; end that process, or use another session")
	}
	return file, err
}

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
