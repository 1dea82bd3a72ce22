// Package storage makes what a fleet keeps in NATS for a tenant, its buckets and streams with their bounds, and reads
// and writes objects in them.
//
// It must not know what is kept in them, nor who may use them.
package storage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/picoclaw/picoclaw/host/fleet/subject"
)

// What is kept, and for how long.
const (
	resultsKept  = time.Hour
	resultsMost  = 1 << 30
	archivesKept = 24 * time.Hour
	archivesMost = 9 << 30 // for one worker: the largest archive, and what is around it
	bundlesKept  = 32      // that can be rolled back to
	notesKept    = 10_000
)

// Make makes what a tenant stores, as far as it is not there. Who may do that is an admin.
func Make(ctx context.Context, conn *nats.Conn, tenant string, workers []string) error {
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	streams := []jetstream.StreamConfig{placement(), {
		Name: subject.Witness, Subjects: []string{subject.All(tenant, "witness")}, MaxMsgsPerSubject: notesKept,
		MaxBytes: 256 << 20, MaxMsgSize: 4096, AllowDirect: true, DenyDelete: true, DenyPurge: true,
	}}
	for _, config := range streams {
		if _, err := js.CreateOrUpdateStream(ctx, config); err != nil {
			return fmt.Errorf("tenant %s: %s can't be made: %w", tenant, config.Name, err)
		}
	}
	if _, err := js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: subject.Bundles, History: bundlesKept,
		MaxBytes: 64 << 20}); err != nil {
		return fmt.Errorf("tenant %s: %s can't be made: %w", tenant, subject.Bundles, err)
	}
	objects := []jetstream.ObjectStoreConfig{{Bucket: subject.Results, TTL: resultsKept, MaxBytes: resultsMost}}
	for _, worker := range workers {
		objects = append(objects, jetstream.ObjectStoreConfig{Bucket: subject.In(worker), TTL: archivesKept,
			MaxBytes: archivesMost})
	}
	for _, config := range objects {
		if _, err := js.CreateOrUpdateObjectStore(ctx, config); err != nil {
			return fmt.Errorf("tenant %s: %s can't be made: %w", tenant, config.Bucket, err)
		}
	}
	return nil
}

// placement is a key-value bucket whose keys can have a time to live, but which takes no roll-ups: with these, whoever
// may write one key can remove all others. So there are no markers for keys that have expired either (LimitMarkerTTL),
// since they need roll-ups: a key that has expired is gone when it is read, and nobody who watches is told.
func placement() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: "KV_" + subject.Placement, Subjects: []string{"$KV." + subject.Placement + ".>"}, MaxMsgsPerSubject: 1,
		MaxBytes: 256 << 20, MaxMsgSize: 4096, Discard: jetstream.DiscardNew, AllowDirect: true, AllowMsgTTL: true,
		DenyDelete: true,
	}
}

// Drop removes what was sent to a worker that is no more.
func Drop(ctx context.Context, conn *nats.Conn, worker string) error {
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	if err := js.DeleteObjectStore(ctx, subject.In(worker)); !errors.Is(err, jetstream.ErrBucketNotFound) {
		return err
	}
	return nil
}
