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

// pollInterval is the pause between two checks of a waiting call for its answer.
const pollInterval = 200 * time.Millisecond

// Queue holds the calls of one process that wait for approval. It may be used concurrently.
type Queue struct {
	home string
	wait time.Duration

	mu      sync.Mutex
	waiting map[string]int // calls by agent
}

// NewQueue returns a queue for a home. A call waits at most the given time.
func NewQueue(home string, wait time.Duration) *Queue {
	return &Queue{home: home, wait: wait, waiting: map[string]int{}}
}

// WaitForAnswer waits until a person answers a call. It returns nil without an error on a timeout. It runs tell with
// the call as soon as the call can be answered; the context of tell ends with the wait.
func (d *Queue) WaitForAnswer(ctx context.Context, c Call, tell func(context.Context, *WaitingCall)) (*Answer, error) {
	d.mu.Lock()
	full := d.waiting[c.Agent] >= maxWaiting
	if !full {
		d.waiting[c.Agent]++
	}
	d.mu.Unlock()
	if full {
		return nil, fmt.Errorf("%d calls of the agent are waiting, which is the maximum", maxWaiting)
	}
	defer func() {
		d.mu.Lock()
		d.waiting[c.Agent]--
		d.mu.Unlock()
	}()
	now := time.Now()
	w := &WaitingCall{ID: strings.ToLower(rand.Text()[:8]), Since: now.UTC(), Until: now.Add(d.wait).UTC(), Call: c,
		Nonce: rand.Text()}
	file, err := d.createLockedCallFile(w)
	if err != nil {
		return nil, err
	}
	defer func() { // remove the file before unlocking, so that it never looks stale
		_ = os.Remove(file.Name())
		_ = os.Remove(approvalFilePath(d.home, w.ID, callSuffix))
		_ = file.Close()
	}()
	var telling sync.WaitGroup
	defer telling.Wait()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	telling.Go(func() { tell(ctx, w) })
	over := time.NewTimer(d.wait)
	defer over.Stop()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-over.C:
			// No more answers are possible; an earlier one still counts.
			_ = os.Remove(approvalFilePath(d.home, w.ID, callSuffix))
			return consumeAnswer(approvalFilePath(d.home, w.ID, answerSuffix), w.digest), nil
		case <-tick.C:
			if a := consumeAnswer(approvalFilePath(d.home, w.ID, answerSuffix), w.digest); a != nil {
				return a, nil
			}
		}
	}
}

// consumeAnswer reads and removes the answer to a call. It returns nil for an invalid answer, or an answer to another
// call, which it removes too.
func consumeAnswer(name, digest string) *Answer {
	file, err := os.OpenFile(name, os.O_RDONLY|filelock.NoFollow|filelock.NonBlock, 0)
	if err != nil {
		return nil
	}
	a := &Answer{}
	text, err := io.ReadAll(io.LimitReader(file, maxFileBytes))
	err = errors.Join(err, json.Unmarshal(text, a), file.Close())
	// An answer that remains would look unread.
	if os.Remove(name) != nil || err != nil || a.Digest != digest {
		return nil
	}
	return a
}

// createLockedCallFile writes a call to a file, which it locks before the file gets its name.
func (d *Queue) createLockedCallFile(w *WaitingCall) (*os.File, error) {
	dir := filepath.Join(d.home, dirName)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := owner.GiveToHomeOwner(d.home, dir); err != nil {
		return nil, err
	}
	text, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	if len(text) > maxFileBytes {
		return nil, fmt.Errorf("the call has %d bytes; a person can be shown at most %d", len(text), maxFileBytes)
	}
	w.digest = hashText(text)
	file, err := os.OpenFile(approvalFilePath(d.home, w.ID, tempSuffix), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = file.Write(text)
	err = errors.Join(err, filelock.Lock(file), owner.GiveToHomeOwner(d.home, file.Name()))
	if err == nil {
		err = os.Rename(file.Name(), approvalFilePath(d.home, w.ID, callSuffix))
	}
	if err != nil {
		_ = os.Remove(file.Name())
		_ = file.Close()
		return nil, err
	}
	return file, nil
}
