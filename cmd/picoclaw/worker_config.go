package main

import (
	"context"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/fleet/bundle"
)

// watchAgain is after what time it is tried again to learn of the fleet's configurations.
const watchAgain = 10 * time.Second

// takes takes the fleet's configurations, those that the keys have signed which the worker's own trusts at the time.
func (w *workerVerb) takes(ctx context.Context) {
	if serial, err := bundle.Current(w.home); err == nil {
		w.worker.SetConfig(serial, nil)
	}
	for ctx.Err() == nil {
		w.takesBy(ctx)
	}
}

// takesBy takes them until other keys are trusted.
func (w *workerVerb) takesBy(ctx context.Context) {
	logger := w.logger.Named("worker")
	ctx, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer stop()
	beside.Go(func() {
		select {
		case <-ctx.Done():
		case <-w.trusts:
			stop()
		}
	})
	w.renew.Lock()
	trust := w.now.trust
	w.renew.Unlock()
	err := bundle.Watch(ctx, w.member.connection, bundle.Options{Tenant: w.member.tenant, Trust: trust,
		Home: w.home, Config: config.Options{File: w.fleet.app.configFile, Workspace: w.fleet.app.workspace},
		Apply: func(uint64) error { return w.reload() }, Report: func(serial uint64, err error) {
			w.worker.SetConfig(serial, err)
			if err != nil {
				logger.Error("a configuration of the fleet's", "number", serial, "error", err)
			} else {
				logger.Info("the worker has a configuration of the fleet's", "number", serial)
			}
		}})
	var again <-chan time.Time // never where no key is trusted
	if err != nil && ctx.Err() == nil {
		logger.Error("the worker takes no configuration of the fleet's yet", "error", err)
		again = time.After(watchAgain)
	}
	select {
	case <-ctx.Done():
	case <-again:
	}
}
