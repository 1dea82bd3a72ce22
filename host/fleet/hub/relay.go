package hub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/picoclaw/picoclaw/host/fleet/subject"
	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// A relay brings a tenant's requests to JetStream, which is in an account of its own, and the answers back. NATS does
// not look at where an answer is to go: whoever may ask JetStream in their own account can have it give orders to
// itself, or speak for others. The relay answers at inboxes alone, passes on headers that it knows, and asks for
// nothing that makes JetStream send to a subject by itself. NATS's own way between accounts, imports, answers anywhere,
// and a reply subject that is a pattern takes others' answers away.
type relay struct {
	front, back *nats.Conn
	store       *store
	free        chan struct{} // how many requests may be on their way
}

const (
	relayAtOnce   = 1024
	relayPatience = 10 * time.Second
	relayEvery    = 500 * time.Millisecond // it is looked whether there are other tenants
)

// stored are the subjects by which a tenant reads and writes what it stores.
func stored(tenant string) []string {
	all := []string{"$JS.API.DIRECT.GET.>", "$KV.>", "$O.>", subject.All(tenant, "witness")}
	for _, request := range managed {
		all = append(all, alias(request)+".*")
	}
	return all
}

// managed is what a tenant may ask of its streams as such.
var managed = []string{"STREAM.INFO", "STREAM.PURGE"}

// alias is what a tenant's account knows a request to JetStream by: by its own name the server itself says that the
// account has no JetStream.
func alias(request string) string { return aliases + request }

const aliases = "pc.js."

// relayed are the headers that are passed on.
var relayed = []string{"KV-Operation", "Nats-Rollup", "Nats-TTL", "Nats-Expected-Last-Subject-Sequence"}

// inbox is where answers go: to one that nobody can guess who has not made it.
var inbox = lazyregexp.New(`^_INBOX_[^.*>\s]+(\.[^.*>\s]+)+$`)

// relays keeps a relay for each tenant until the context ends.
func (h *Hub) relays(ctx context.Context, to *store, first *Register) error {
	running := map[string]*relay{}
	start := func(r *Register) error {
		for _, tenant := range slices.Sorted(maps.Keys(r.Tenants)) {
			if running[tenant] != nil {
				continue
			}
			one, err := h.relay(to, tenant)
			if err != nil {
				return fmt.Errorf("relay for tenant %s: %w", tenant, err)
			}
			running[tenant] = one
		}
		return nil
	}
	if err := start(first); err != nil {
		return err
	}
	go func() {
		tick := time.NewTicker(relayEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				for _, r := range running {
					r.close()
				}
				return
			case <-tick.C:
				r, err := h.Register()
				if err == nil {
					err = start(r)
				}
				if err != nil {
					to.log.Warn("a tenant is not served yet", "error", err)
				}
			}
		}
	}()
	return nil
}

// relay makes a tenant's relay.
func (h *Hub) relay(to *store, tenant string) (*relay, error) {
	r := &relay{store: to, free: make(chan struct{}, relayAtOnce)}
	connect := func(account string) (*nats.Conn, error) {
		if err := h.hasAccount(account); err != nil {
			return nil, err
		}
		return h.connect("nats://localhost", tenant, account, 0, nats.InProcessServer(to.srv))
	}
	var err error
	if r.back, err = connect("store-" + tenant); err == nil {
		r.front, err = connect("tenant-" + tenant)
	}
	for _, s := range stored(tenant) {
		if err == nil {
			_, err = r.front.Subscribe(s, r.pass)
		}
	}
	if err != nil {
		r.close()
		return nil, err
	}
	return r, r.front.Flush()
}

func (r *relay) close() {
	r.front.Close() // of none, too
	r.back.Close()
}

// pass brings a request to JetStream, and its answer back.
func (r *relay) pass(m *nats.Msg) {
	if !inbox().MatchString(m.Reply) {
		return
	}
	if refusal := r.store.refusal(m.Subject); refusal != nil {
		_ = r.front.Publish(m.Reply, refusal)
		return
	}
	r.free <- struct{}{}
	go func() {
		defer func() { <-r.free }()
		ctx, cancel := context.WithTimeout(context.Background(), relayPatience)
		defer cancel()
		ask := &nats.Msg{Subject: m.Subject, Header: nats.Header{}, Data: m.Data}
		if request, is := strings.CutPrefix(m.Subject, aliases); is {
			ask.Subject = "$JS.API." + request
		}
		for _, name := range relayed {
			if values, is := m.Header[name]; is {
				ask.Header[name] = values
			}
		}
		answer, err := r.back.RequestMsgWithContext(ctx, ask)
		if errors.Is(err, nats.ErrNoResponders) {
			answer, err = &nats.Msg{Header: nats.Header{"Status": {"503"}}}, nil
		}
		if err == nil { // or whoever asks waits in vain, as without a relay
			_ = r.front.PublishMsg(&nats.Msg{Subject: m.Reply, Header: answer.Header, Data: answer.Data})
		}
	}()
}

// served waits until the running hub's relay brings a tenant's requests to JetStream.
func (h *Hub) served(ctx context.Context, tenant string) error {
	if h.address() == "" {
		return nil
	}
	conn, err := h.Admin(tenant)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	for {
		_, err := conn.RequestWithContext(ctx, alias("STREAM.INFO")+".KV_"+subject.Placement, nil)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("tenant %s is written down, but the running hub does not serve it: %w; end the hub, and start it again",
				tenant, err)
		}
		time.Sleep(relayEvery / 10)
	}
}
