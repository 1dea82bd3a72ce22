package fleet

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// The bounds of a journal. Within its age no call is run twice; one that ended longer ago is forgotten, and never one
// that has not ended. The times are those of this process: what it has found in the file counts as new.
const (
	journalAge   = 15 * time.Minute
	journalBytes = 32 << 20 // after which it is written anew, with the answers of half of it
	journalCalls = 200_000
	journalAgain = time.Minute // after which that is tried again, where it has failed
	journalRoom  = 16 << 10    // that a disk has to have for a worker to take the agent
)

// journal is what a worker has written down of one agent's calls, so that none is run twice. It may be used
// concurrently.
//
// Its file has a line for each thing that happened; an answer stands behind its line as it is. That a call begins is in
// the file before it does. Nothing is forced onto the disk: what a process has written is there when it was killed, and
// a machine that starts anew may have lost any of it, so the tenures of before do not count then.
type journal struct {
	boot string // of the machine
	path string

	mu      sync.Mutex
	file    *os.File
	size    int64
	most    int64     // the size at which it is written anew
	again   time.Time // not before, since that has failed
	calls   map[string]*noted
	order   []string        // ids of those that are done, the first to end first
	tenures map[tenure]bool // of this boot
}

// tenure is the time that a life of a worker has an agent. Epochs come again where NATS has lost its store.
type tenure struct {
	epoch    uint64
	instance string
}

// noted is what is known of one call.
type noted struct {
	digest string
	done   bool
	offset int64 // of its answer
	length int64
	at     time.Time // when it was done
}

// journalLine is a line of the file.
type journalLine struct {
	Epoch    uint64 `json:"epoch,omitempty"` // the agent was taken
	Instance string `json:"instance,omitempty"`
	Boot     string `json:"boot,omitempty"`
	Begun    string `json:"begun,omitempty"` // a call's id
	Digest   string `json:"digest,omitempty"`
	Done     string `json:"done,omitempty"` // a call's id
	Length   int64  `json:"length,omitempty"`
	Sum      uint32 `json:"sum,omitempty"` // of the answer, whose end a machine may have lost that keeps its beginning
}

// bootID says since when the machine runs. Where it does not say so itself, no two processes have the same.
func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return cmp.Or(strings.TrimSpace(string(id)), rand.Text())
}

// openJournal opens a journal. A line that is not whole is the last one of a process that was killed at it: what it
// would have said has not happened.
func openJournal(path, boot string) (*journal, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	j := &journal{boot: boot, path: path, file: file, most: journalBytes, calls: map[string]*noted{},
		tenures: map[tenure]bool{}}
	err = j.read()
	if err == nil {
		err = file.Truncate(j.size)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the journal %s: %w", path, err), file.Close())
	}
	return j, nil
}

func (j *journal) read() error {
	in := bufio.NewReader(j.file)
	now := time.Now()
	for {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var line journalLine
		if json.Unmarshal(text, &line) != nil || line.Length < 0 {
			return nil
		}
		begin := j.size + int64(len(text))
		if line.Length > 0 {
			sum := crc32.New(castagnoli())
			if _, err := io.CopyN(sum, in, line.Length); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			if line.Sum != 0 && sum.Sum32() != line.Sum { // an older picoclaw writes none
				line.Done = ""
			}
		}
		j.apply(line, begin, now)
		j.size = begin + line.Length
	}
}

func (j *journal) apply(line journalLine, offset int64, now time.Time) {
	switch {
	case line.Epoch != 0:
		if line.Boot == j.boot {
			j.tenures[tenure{line.Epoch, line.Instance}] = true
		}
	case line.Begun != "":
		if j.calls[line.Begun] == nil {
			j.calls[line.Begun] = &noted{digest: line.Digest}
		}
	case line.Done != "":
		j.ended(line.Done, offset, line.Length, now)
	}
}

// ended notes where a call's answer is. The lock is held.
func (j *journal) ended(id string, offset, length int64, at time.Time) {
	if c := j.calls[id]; c != nil && !c.done {
		c.done, c.offset, c.length, c.at = true, offset, length, at
		j.order = append(j.order, id)
	}
}

// errDisk is what a call is not made for.
var errDisk = errors.New("the call can't be written down, and without that it might be made twice")

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// text is the line, and what stands behind it. The answer begins at a place in it.
func (line journalLine) text(behind []byte) (text []byte, answerAt int, err error) {
	if len(behind) > 0 {
		line.Length, line.Sum = int64(len(behind)), crc32.Checksum(behind, castagnoli())
	}
	if text, err = json.Marshal(line); err != nil {
		return nil, 0, err
	}
	text = append(text, '\n')
	return append(text, behind...), len(text), nil
}

// write adds a line, and what stands behind it. The lock is held.
func (j *journal) write(line journalLine, behind []byte) (offset int64, err error) {
	text, at, err := line.text(behind)
	if err != nil {
		return 0, err
	}
	if _, err := j.file.WriteAt(text, j.size); err != nil {
		_ = j.file.Truncate(j.size) // the next line goes there
		return 0, fmt.Errorf("%w: %w", errDisk, err)
	}
	offset = j.size + int64(at)
	j.size += int64(len(text))
	return offset, nil
}

// ready says why what follows could not be written down: there is to be room for some calls.
func (j *journal) ready() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, err := j.file.WriteAt(make([]byte, journalRoom), j.size)
	if err = errors.Join(err, j.file.Truncate(j.size)); err != nil {
		return fmt.Errorf("%w: %w", errDisk, err)
	}
	return nil
}

// took notes that the worker has the agent.
func (j *journal) took(t tenure) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.tenures[t] = true
	_, err := j.write(journalLine{Epoch: t.epoch, Instance: t.instance, Boot: j.boot}, nil)
	return err
}

// had reports whether the worker has had the agent, and all calls of then are in this journal.
func (j *journal) had(t tenure) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.tenures[t]
}

// begin notes that a call begins.
func (j *journal) begin(id, digest string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.shorten()
	_, err := j.write(journalLine{Begun: id, Digest: digest}, nil)
	if err == nil {
		j.calls[id] = &noted{digest: digest}
	}
	return err
}

// done notes how a call was answered.
func (j *journal) done(id string, answer []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	offset, err := j.write(journalLine{Done: id}, answer)
	if err == nil {
		j.ended(id, offset, int64(len(answer)), time.Now())
	}
	return err
}

// find returns what is known of a call: nil for nothing. The answer is nil where there is none, or it is not kept any
// more.
func (j *journal) find(id string) (*noted, []byte, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	c := j.calls[id]
	if c == nil || !c.done || c.length == 0 {
		return c, nil, nil
	}
	answer := make([]byte, c.length)
	if _, err := j.file.ReadAt(answer, c.offset); err != nil {
		return nil, nil, fmt.Errorf("read the journal %s: %w", j.path, err)
	}
	return c, answer, nil
}

// shorten writes the journal anew when it has become too long: without the calls that ended too long ago, and with the
// later answers only. A disk that has no room for that may have some for the next lines. The lock is held.
func (j *journal) shorten() {
	if j.size < j.most && len(j.order) < journalCalls || time.Now().Before(j.again) {
		return
	}
	keep := j.order
	for len(keep) > 0 && (time.Since(j.calls[keep[0]].at) > journalAge || len(keep) > journalCalls/2) {
		keep = keep[1:]
	}
	answersFrom, left := len(keep), int64(journalBytes/2)
	for answersFrom > 0 && j.calls[keep[answersFrom-1]].length <= left {
		answersFrom--
		left -= j.calls[keep[answersFrom]].length
	}
	next, err := j.copy(keep, answersFrom)
	if err != nil {
		j.again = time.Now().Add(journalAgain)
		return
	}
	_ = j.file.Close()
	j.file, j.size, j.calls, j.order = next.file, next.size, next.calls, next.order
	j.most = max(journalBytes, 2*j.size) // or one that stays long would be written at each call
}

// copy writes a journal that takes the place of this one: with its tenures, its calls that have not ended and some that
// have. The lock is held.
func (j *journal) copy(ids []string, answersFrom int) (next *journal, err error) {
	next = &journal{calls: map[string]*noted{}}
	var all []byte
	add := func(line journalLine, behind []byte) (offset int64) {
		text, at, textErr := line.text(behind)
		err = cmp.Or(err, textErr)
		offset = int64(len(all) + at)
		all = append(all, text...)
		return offset
	}
	begun := func(id string, c *noted) {
		next.calls[id] = &noted{digest: c.digest}
		add(journalLine{Begun: id, Digest: c.digest}, nil)
	}
	for t := range j.tenures {
		add(journalLine{Epoch: t.epoch, Instance: t.instance, Boot: j.boot}, nil)
	}
	for id, c := range j.calls {
		if !c.done {
			begun(id, c)
		}
	}
	for i, id := range ids {
		c := j.calls[id]
		begun(id, c)
		var answer []byte
		if i >= answersFrom && err == nil {
			answer = make([]byte, c.length)
			_, err = j.file.ReadAt(answer, c.offset)
		}
		next.ended(id, add(journalLine{Done: id}, answer), int64(len(answer)), c.at)
	}
	if err != nil {
		return nil, err
	}
	name := j.path + ".new" // no agent's own
	if next.file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return nil, err
	}
	if _, err = next.file.Write(all); err == nil {
		err = os.Rename(name, j.path)
	}
	if err != nil {
		return nil, errors.Join(err, next.file.Close(), os.Remove(name))
	}
	next.size = int64(len(all))
	return next, nil
}

func (j *journal) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.file.Close()
}
