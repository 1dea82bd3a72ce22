package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Note is what a witness is told of a log: how far its chain had come. The count and the head are the chain's,
// whichever processes have written its records.
type Note struct {
	Chain string    `json:"chain"` // names the chain: that of its first record
	Count int       `json:"count"` // of its records, with those whose files are gone
	Head  string    `json:"head"`  // the chain of the last of them
	Time  time.Time `json:"time"`
}

// WitnessOptions say who is told of a log, and how often.
type WitnessOptions struct {
	To      string        // a file's path or an http or https URL; "" for neither
	Records int           // it is told after so many records of this process
	Every   time.Duration // and after so long, if there is a record since
	Failed  func(error)   // is told when it can't be reached, and not again until it could be

	// Tell, if not nil, is told too: each note is a line of JSON.
	Tell func(ctx context.Context, note []byte) error
}

const (
	tellTimeout   = 10 * time.Second // for one note to a URL
	closePatience = time.Second      // for the last note
)

// Witness tells somebody elsewhere how far a log has come. It reads the log for itself, so that no call waits for it,
// and tells what is newest: what it could not tell before is in that.
type Witness struct {
	path    string
	options WitnessOptions
	client  http.Client

	wrote   atomic.Int64
	due     chan struct{}
	closing chan struct{}
	once    sync.Once
	done    chan struct{}
	cancel  context.CancelFunc

	// what follows is the goroutine's own
	told   int64 // of wrote
	failed bool
	info   os.FileInfo // the file that was read
	size   int64       // so far
	at     position
}

// NewWitness begins to tell of the log at a path. Call [Witness.Close] at the end.
func NewWitness(path string, options WitnessOptions) *Witness {
	ctx, cancel := context.WithCancel(context.Background())
	w := &Witness{path: path, options: options, client: http.Client{Timeout: tellTimeout},
		due: make(chan struct{}, 1), closing: make(chan struct{}), done: make(chan struct{}), cancel: cancel}
	go w.run(ctx)
	return w
}

// Wrote is to be called after each record of this process. It does not wait.
func (w *Witness) Wrote() {
	if w == nil || w.wrote.Add(1)%int64(max(w.options.Records, 1)) != 0 {
		return
	}
	select {
	case w.due <- struct{}{}:
	default: // it will read this record too
	}
}

// Close tells the last of it. A witness that does not answer is given up after a second.
func (w *Witness) Close() {
	if w == nil {
		return
	}
	w.once.Do(func() { close(w.closing) })
	patience := time.AfterFunc(closePatience, w.cancel)
	defer patience.Stop()
	defer w.cancel()
	select {
	case <-w.done:
	case <-time.After(2 * closePatience): // a file system that does not answer can't be interrupted
	}
}

func (w *Witness) run(ctx context.Context) {
	defer close(w.done)
	defer w.client.CloseIdleConnections()
	tick := time.NewTicker(w.options.Every)
	defer tick.Stop()
	for {
		select {
		case <-w.due:
		case <-tick.C:
		case <-w.closing:
			w.tell(ctx)
			return
		}
		w.tell(ctx)
	}
}

// tell tells how far the log has come, if this process has written to it since.
func (w *Witness) tell(ctx context.Context) {
	wrote := w.wrote.Load()
	if wrote == w.told {
		return
	}
	err := w.look()
	if err == nil && w.at.count == 0 {
		return
	}
	if err == nil {
		at := w.at
		err = w.send(ctx, Note{Chain: string(at.begins), Count: at.count, Head: string(at.head), Time: time.Now().UTC()})
	}
	if err == nil {
		w.told, w.failed = wrote, false
		return
	}
	if !w.failed {
		w.failed = true
		w.options.Failed(fmt.Errorf("the audit log's witness was not told how far it has come: %w", err))
	}
}

// look reads what has come to the log since it was looked at last. A device has nothing to read.
func (w *Witness) look() error {
	info, err := os.Stat(w.path)
	if err == nil && !info.Mode().IsRegular() {
		return nil
	}
	f, info, err := openShared(w.path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if w.info == nil || !os.SameFile(w.info, info) || info.Size() < w.size {
		w.size, w.at = 0, position{}
	}
	w.info = info
	read, err := w.at.read(io.NewSectionReader(f, w.size, info.Size()-w.size))
	w.size += read
	return err
}

// openShared opens the current file, and says how long it is, while nobody puts it aside or writes to it.
func openShared(path string) (f *os.File, info os.FileInfo, err error) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = dir.Close() }()
	err = shared(dir, func() error {
		if f, err = os.Open(path); err == nil {
			info, err = f.Stat()
		}
		return err
	})
	if err != nil && f != nil {
		_ = f.Close()
	}
	return f, info, err
}

func (w *Witness) send(ctx context.Context, n Note) error {
	line, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if w.options.Tell != nil {
		ctx, cancel := context.WithTimeout(ctx, tellTimeout)
		defer cancel()
		err = w.options.Tell(ctx, line)
	}
	if w.options.To == "" {
		return err
	}
	return errors.Join(err, w.post(ctx, line))
}

func (w *Witness) post(ctx context.Context, line []byte) error {
	if !isURL(w.options.To) {
		return appendLine(w.options.To, line)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.options.To, bytes.NewReader(line))
	if err != nil {
		return withoutQuery(err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := w.client.Do(request)
	if err != nil {
		return withoutQuery(err)
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.CopyN(io.Discard, answer.Body, 4096) // so that the connection can be used again
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("%s answers %s", request.URL.Host, answer.Status)
	}
	return nil
}

// appendLine adds a line in one piece, as other processes do.
func appendLine(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(append(line, '\n')); err == nil {
		err = ignoreUnsupported(f.Sync())
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

func isURL(to string) bool {
	return strings.HasPrefix(to, "http://") || strings.HasPrefix(to, "https://")
}

// withoutQuery takes out of an error what may be a secret in a URL: its user and its query.
func withoutQuery(err error) error {
	if wrong, ok := err.(*url.Error); ok {
		if at, parsed := url.Parse(wrong.URL); parsed == nil {
			return fmt.Errorf("%s %s: %w", wrong.Op, at.Host, wrong.Err)
		}
		return wrong.Err
	}
	return err
}
