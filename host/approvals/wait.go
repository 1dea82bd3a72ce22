package approvals

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/internal/filelock"
	"github.com/picoclaw/picoclaw/internal/owner"
)

// interval is how often a call that waits looks for its answer.
const interval = 200 * time.Millisecond

// Desk is where the calls of one process wait. It may be used concurrently.
type Desk struct {
	home string
	wait time.Duration

	mu      sync.Mutex
	waiting map[string]int // calls, by their agents
}

// NewDesk makes a desk of an instance root, at which calls wait for at most a time.
func NewDesk(home string, wait time.Duration) *Desk {
	return &Desk{home: home, wait: wait, waiting: map[string]int{}}
}

// Wait waits until somebody has answered a call. It returns nil without an error when nobody has done so in time. tell
// is told of the call once it can be answered; its context ends with the waiting, and it soon after.
func (d *Desk) Wait(ctx context.Context, c Call, tell func(context.Context, *Waiting)) (*Answer, error) {
	d.mu.Lock()
	full := d.waiting[c.Agent] >= mostWaiting
	if !full {
		d.waiting[c.Agent]++
	}
	d.mu.Unlock()
	if full {
		return nil, fmt.Errorf("%d calls of the agent wait already, which are as many as may", mostWaiting)
	}
	defer func() {
		d.mu.Lock()
		d.waiting[c.Agent]--
		d.mu.Unlock()
	}()
	now := time.Now()
	w := &Waiting{ID: strings.ToLower(rand.Text()[:8]), Since: now.UTC(), Until: now.Add(d.wait).UTC(), Call: c,
		Nonce: rand.Text()}
	file, err := d.put(w)
	if err != nil {
		return nil, err
	}
	defer func() { // the name goes before the lock does, so that nobody takes this process for dead
		_ = os.Remove(file.Name())
		_ = os.Remove(path(d.home, w.ID, callSuffix))
		_ = file.Close()
	}()
	var telling sync.WaitGroup
	defer telling.Wait()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	telling.Go(func() { tell(ctx, w) })
	over := time.NewTimer(d.wait)
	defer over.Stop()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-over.C:
			// No answer is given any more; one that was before still counts.
			_ = os.Remove(path(d.home, w.ID, callSuffix))
			return take(path(d.home, w.ID, answerEnd), w.digest), nil
		case <-tick.C:
			if a := take(path(d.home, w.ID, answerEnd), w.digest); a != nil {
				return a, nil
			}
		}
	}
}

// take takes the answer to a call, if there is one. What answers another call, or nothing, is removed.
func take(name, digest string) *Answer {
	file, err := os.OpenFile(name, os.O_RDONLY|filelock.NoFollow|filelock.NonBlock, 0)
	if err != nil {
		return nil
	}
	a := &Answer{}
	text, err := io.ReadAll(io.LimitReader(file, mostFile))
	err = errors.Join(err, json.Unmarshal(text, a), file.Close())
	// An answer that is not gone could be seen as not taken by who has given it.
	if os.Remove(name) != nil || err != nil || a.Digest != digest {
		return nil
	}
	return a
}

// put writes a call's file, which is there under its name once it is whole and locked.
func (d *Desk) put(w *Waiting) (*os.File, error) {
	dir := filepath.Join(d.home, dirName)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := owner.Give(d.home, dir); err != nil {
		return nil, err
	}
	text, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	if len(text) > mostFile {
		return nil, fmt.Errorf("the call is %d bytes long, and at most %d can be shown to a person", len(text), mostFile)
	}
	w.digest = digest(text)
	file, err := os.OpenFile(path(d.home, w.ID, makingEnd), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = file.Write(text)
	err = errors.Join(err, filelock.Lock(file), owner.Give(d.home, file.Name()))
	if err == nil {
		err = os.Rename(file.Name(), path(d.home, w.ID, callSuffix))
	}
	if err != nil {
		_ = os.Remove(file.Name())
		_ = file.Close()
		return nil, err
	}
	return file, nil
}
