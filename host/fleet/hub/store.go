package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/picoclaw/picoclaw/host/fleet/subject"
	"github.com/picoclaw/picoclaw/internal/fulldisk"
)

// checkStoreEvery is the pause between two checks of the store.
const checkStoreEvery = time.Second

// store is JetStream in a running hub. A stream whose write has failed, because the disk was full, refuses writes for
// as long as JetStream runs. So JetStream is restarted when the disk has room again; connections stay.
type store struct {
	srv   *server.Server
	dir   string
	log   hclog.Logger
	fault atomic.Pointer[string] // why nothing can be written; nil if it can
}

// watch restarts JetStream after failed writes until the context ends.
func (s *store) watch(ctx context.Context) {
	tick := time.NewTicker(checkStoreEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !s.hasFailed() {
			continue
		}
		if err := s.tryWrite(); err != nil {
			s.report(err)
		} else if err := s.restart(); err != nil {
			s.report(fmt.Errorf("restart JetStream: %w", err))
		} else {
			s.fault.Store(nil)
			s.log.Warn("the hub's store can be written again; JetStream was restarted")
		}
	}
}

// hasFailed reports whether a write has failed since JetStream was started.
func (s *store) hasFailed() bool {
	if !s.srv.JetStreamEnabled() {
		return true
	}
	return slices.ContainsFunc(s.srv.Healthz(&server.HealthzOptions{Details: true}).Errors, func(e server.HealthzError) bool {
		return e.Type == server.HealthzErrorStream && strings.Contains(e.Error, " write error: ")
	})
}

// tryWrite writes as much as the largest message needs, and removes it.
func (s *store) tryWrite() error {
	f, err := os.CreateTemp(s.dir, "room-")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, maxPayload))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

func (s *store) restart() error {
	if err := s.srv.ShutdownJetStream(); err != nil {
		return err
	}
	return s.srv.EnableJetStream(&server.JetStreamConfig{StoreDir: s.dir, SyncAlways: true, CompressOK: true,
		MaxStore: maxStore, MaxMemory: maxStore, Strict: true})
}

// report logs why nothing can be written, and has requests refused with it.
func (s *store) report(err error) {
	reason := err.Error()
	if path, is := errors.AsType[*fs.PathError](err); is {
		reason = path.Err.Error() // clients need not know the hub's directories
	}
	if said := s.fault.Swap(&reason); said == nil || *said != reason {
		s.log.Error("the hub's store can't be written: no agent is served until it can", "directory", s.dir, "error", reason)
	}
}

// explainStoreError adds a remedy to JetStream's error of a stream that it can't write.
func explainStoreError(err error) error {
	const cannotCreate = 10049 // JetStream's code
	if e, is := errors.AsType[*jetstream.APIError](err); is && e.ErrorCode == cannotCreate {
		return fmt.Errorf("%w; %s", err, fulldisk.Remedy)
	}
	return err
}

// refusal is the answer to a request that can't be served while nothing can be written: what is stored can be read, but
// who has which agent is outdated. It is nil if the store can be written.
func (s *store) refusal(request string) []byte {
	reason := s.fault.Load()
	if reason == nil || strings.HasPrefix(request, "$JS.API.DIRECT.GET.") ||
		strings.HasPrefix(request, alias("STREAM.INFO")) && request != alias("STREAM.INFO")+".KV_"+subject.Placement {
		return nil
	}
	refused := server.NewJSStreamStoreFailedError(errors.New("the hub's store can't be written: " + *reason))
	answer, _ := json.Marshal(server.ApiResponse{Error: refused})
	return answer
}
