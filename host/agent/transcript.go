package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/picoclaw/picoclaw/internal/filelock"
)

// Transcript is a conversation, kept in a file of JSON lines to which each message is appended when it is complete.
// Nothing is written over: where older messages have been summarised, a line says from where on the conversation is
// another. One process has it at a time. What a system that crashes has not put on disk is lost, and nothing else.
type Transcript struct {
	key      string
	file     *os.File // nil if it is kept in memory alone
	size     int64
	messages []Message
	repairs  []string
}

// line is a line of the file; one of its parts is there.
type line struct {
	Time    time.Time `json:"time"`
	Head    *head     `json:"transcript,omitempty"`
	Message *Message  `json:"message,omitempty"`
	Usage   *Usage    `json:"usage,omitempty"` // of an assistant's message
	Context *cut      `json:"context,omitempty"`
}

// head is the first line.
type head struct {
	Version int    `json:"version"`
	Key     string `json:"key"`
}

// cut says that a message has taken the place of all messages but the last ones.
type cut struct {
	Kept    int     `json:"kept"`
	Message Message `json:"message"`
	Notice  string  `json:"notice"`
}

// transcriptVersion is the form of the file.
const transcriptVersion = 1

// NewTranscript begins a conversation that is kept in memory alone.
func NewTranscript() *Transcript { return &Transcript{} }

// OpenTranscript opens the conversation with a key, such as "cli:default", or begins it. A file that a crash has left
// is made whole; [Transcript.Repairs] says how.
func OpenTranscript(dir, key string) (*Transcript, error) {
	if !utf8.ValidString(key) {
		return nil, fmt.Errorf("session %q: its name is not UTF-8", key)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of sessions: %w", err)
	}
	file, err := claim(filepath.Join(dir, fileName(key)), os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("open session %q: %w", key, err)
	}
	t := &Transcript{key: key, file: file}
	if err := t.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("open session %q: %s: %w", key, file.Name(), err), file.Close())
	}
	return t, nil
}

func (t *Transcript) load() error {
	data, err := io.ReadAll(t.file)
	if err != nil {
		return err
	}
	read, err := readTranscript(data)
	if err != nil {
		return err
	}
	if read.head != nil && read.head.Key != t.key {
		return fmt.Errorf("it is the file of session %q; move it away", read.head.Key)
	}
	t.messages, t.repairs, t.size = read.messages, read.repairs, int64(read.whole)
	if read.whole < len(data) {
		if err := t.file.Truncate(t.size); err != nil {
			return err
		}
	}
	if read.head == nil {
		if err := t.write(line{Head: &head{transcriptVersion, t.key}}); err != nil {
			return err
		}
	}
	for _, m := range read.missing {
		if err := t.Append(m, nil); err != nil {
			return err
		}
	}
	return nil
}

// Key is the conversation's; empty for one in memory.
func (t *Transcript) Key() string { return t.key }

// Path is where it is kept; empty for one in memory.
func (t *Transcript) Path() string {
	if t.file == nil {
		return ""
	}
	return t.file.Name()
}

// Messages are those of the conversation as it is now. The caller does not change them.
func (t *Transcript) Messages() []Message { return t.messages }

// Repairs says what was not whole when the file was opened, a sentence each.
func (t *Transcript) Repairs() []string { return t.repairs }

// Append adds a message, with what it has used if that is known.
func (t *Transcript) Append(m Message, used *Usage) error {
	if err := t.write(line{Message: &m, Usage: used}); err != nil {
		return err
	}
	t.messages = append(t.messages, m)
	return nil
}

// Cut puts a message in the place of all but the last ones. The notice says in the file why.
func (t *Transcript) Cut(kept int, m Message, notice string) error {
	if err := t.write(line{Context: &cut{kept, m, notice}}); err != nil {
		return err
	}
	t.messages = append([]Message{m}, t.messages[len(t.messages)-kept:]...)
	return nil
}

// write appends a line, or nothing: where there is room for a part only, that is taken back.
func (t *Transcript) write(l line) error {
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

// Close ends the use of the file.
func (t *Transcript) Close() error {
	if t.file == nil {
		return nil
	}
	return t.file.Close()
}

// Info tells of a conversation that is kept.
type Info struct {
	Key      string
	Path     string
	Modified time.Time
	Bytes    int64
}

// Transcripts lists the conversations that are kept in a directory, those used last first.
func Transcripts(dir string) ([]Info, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var all []Info
	for _, e := range entries {
		if filepath.Ext(e.Name()) != extension || !e.Type().IsRegular() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		about, err := e.Info()
		first, headErr := readHead(path)
		if err != nil || headErr != nil || fileName(first.Key) != e.Name() {
			continue // deleted at this moment, or none of ours
		}
		all = append(all, Info{first.Key, path, about.ModTime(), about.Size()})
	}
	slices.SortFunc(all, func(a, b Info) int { return b.Modified.Compare(a.Modified) })
	return all, nil
}

// DeleteTranscript deletes a conversation that nobody uses.
func DeleteTranscript(dir, key string) error {
	path := filepath.Join(dir, fileName(key))
	file, err := claim(path, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no session %q", key)
	}
	if err != nil {
		return fmt.Errorf("delete session %q: %w", key, err)
	}
	err = os.Remove(path) // while it is locked, where a system can do that
	if closed := file.Close(); err != nil {
		err = errors.Join(closed, os.Remove(path))
	}
	return err
}

// claim opens and locks the file at path.
func claim(path string, create int) (*os.File, error) {
	file, err := filelock.OpenFile(path, os.O_RDWR|create, filelock.Lock)
	if errors.Is(err, filelock.ErrLocked) {
		err = errors.New("another process has it; end that one, or use another session")
	}
	return file, err
}
