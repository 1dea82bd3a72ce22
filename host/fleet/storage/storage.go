// Package storage makes what a fleet keeps in NATS for a tenant, its buckets and streams with their bounds, and reads
// and writes objects in them.
//
// It must not know what is kept in them, nor who may use them.
package storage

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// Objects are read and written here as NATS's own clients do, but one piece after the other: those have four thousand
// pieces on their way, give all of them five seconds together, and read with a consumer, which JetStream would send
// anywhere.
const (
	piece     = 512 << 10
	pieceTime = 30 * time.Second
)

// Put puts an object of an agent's into a bucket, which it need not be able to read.
func Put(ctx context.Context, js jetstream.JetStream, bucket, agent, name string, from io.Reader) error {
	id := subject.Token(agent) + "." + rand.Text()
	sum := sha256.New()
	info := jetstream.ObjectInfo{ObjectMeta: jetstream.ObjectMeta{Name: name}, Bucket: bucket, NUID: id}
	buffer := make([]byte, min(piece, js.Conn().MaxPayload()-4<<10))
	for {
		n, err := io.ReadFull(from, buffer)
		if n > 0 {
			sum.Write(buffer[:n])
			m := &nats.Msg{Subject: "$O." + bucket + ".C." + id, Data: buffer[:n]}
			if putErr := publish(ctx, js, m); putErr != nil {
				return fmt.Errorf("put it into the fleet's bucket %s: %w", bucket, putErr)
			}
			info.Chunks, info.Size = info.Chunks+1, info.Size+uint64(n)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	info.Digest = "SHA-256=" + base64.URLEncoding.EncodeToString(sum.Sum(nil))
	data, err := json.Marshal(info)
	if err != nil {
		return err
	}
	m := &nats.Msg{Subject: "$O." + bucket + ".M." + base64.URLEncoding.EncodeToString([]byte(name)), Data: data,
		Header: nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupSubject}}}
	if err := publish(ctx, js, m); err != nil {
		return fmt.Errorf("put it into the fleet's bucket %s: %w", bucket, err)
	}
	return nil
}

func publish(ctx context.Context, js jetstream.JetStream, m *nats.Msg) error {
	ctx, cancel := context.WithTimeout(ctx, pieceTime)
	defer cancel()
	_, err := js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
	return err
}

// Object is an object that is read. Who has written it is not known: what it is has to be told by its writer, and
// compared.
type Object struct {
	ctx    context.Context
	stream jetstream.Stream
	pieces string // their subject
	left   uint32
	next   uint64
	rest   []byte
}

// Open opens an object. What is read ends with ctx.
func Open(ctx context.Context, js jetstream.JetStream, bucket, name string) (*Object, error) {
	stream, err := js.Stream(ctx, "OBJ_"+bucket)
	if err != nil {
		return nil, fmt.Errorf("open the fleet's bucket %s: %w", bucket, err)
	}
	m, err := stream.GetLastMsgForSubject(ctx, "$O."+bucket+".M."+base64.URLEncoding.EncodeToString([]byte(name)))
	var info jetstream.ObjectInfo
	if err == nil {
		err = json.Unmarshal(m.Data, &info)
	}
	if err == nil && info.Deleted {
		err = jetstream.ErrObjectNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("get it from the fleet's bucket %s: %w", bucket, err)
	}
	return &Object{ctx: ctx, stream: stream, pieces: "$O." + bucket + ".C." + info.NUID, left: info.Chunks, next: 1}, nil
}

// Read reads on.
func (o *Object) Read(p []byte) (int, error) {
	for len(o.rest) == 0 {
		if o.left == 0 {
			return 0, io.EOF
		}
		ctx, cancel := context.WithTimeout(o.ctx, pieceTime)
		m, err := o.stream.GetMsg(ctx, o.next, jetstream.WithGetMsgSubject(o.pieces))
		cancel()
		if err != nil {
			return 0, fmt.Errorf("get it from the fleet's bucket: %w", err)
		}
		o.rest, o.next, o.left = m.Data, m.Sequence+1, o.left-1
	}
	n := copy(p, o.rest)
	o.rest = o.rest[n:]
	return n, nil
}

// Clean removes objects that arrived in a bucket for an agent and were not fetched.
func Clean(ctx context.Context, js jetstream.JetStream, bucket, agent string) error {
	stream, err := js.Stream(ctx, "OBJ_"+bucket)
	if err == nil {
		err = stream.Purge(ctx, jetstream.WithPurgeSubject("$O."+bucket+".C."+subject.Token(agent)+".>"))
	}
	if err != nil {
		return fmt.Errorf("clean the fleet's bucket %s: %w", bucket, err)
	}
	return nil
}
