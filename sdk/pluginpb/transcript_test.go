package pluginpb_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// exchange is a request, and what a plugin answered to it, as they were on the wire.
type exchange struct {
	Method  string
	Request []byte
	Answers [][]byte
}

// transcript is what a host and a plugin said of protocol 2, without logs and questions.
func transcript(t *testing.T) []exchange {
	t.Helper()
	data, err := os.ReadFile("testdata/wordcount.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []exchange
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// bytesAsTheyAre is a codec for what was recorded.
type bytesAsTheyAre struct{}

func (bytesAsTheyAre) Name() string                  { return "proto" }
func (bytesAsTheyAre) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }
func (bytesAsTheyAre) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}

// replay serves what a plugin answered, in order, to whatever it is asked by the same method.
func replay(t *testing.T, all []exchange) pluginpb.PluginClient {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(grpc.ForceServerCodec(bytesAsTheyAre{}),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			method, _ := grpc.MethodFromServerStream(stream)
			for len(all) > 0 && method == "/picoclaw.plugin.v2.Plugin/"+all[0].Method {
				var request []byte
				if err := stream.RecvMsg(&request); err != nil {
					return err
				}
				for _, answer := range all[0].Answers {
					if err := stream.SendMsg(&answer); err != nil {
						return err
					}
				}
				streams := all[0].Method == "Call"
				if all = all[1:]; !streams {
					return nil
				}
			}
			return nil
		}))
	go func() { _ = server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:plugin", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(); server.Stop() })
	return pluginpb.NewPluginClient(conn)
}

func TestHostAcceptsOlderPlugin(t *testing.T) { understand(t, transcript(t)) }

// What a newer side says besides is passed over.
func TestUnknownWireFieldsAreIgnored(t *testing.T) {
	all := transcript(t)
	for _, x := range all {
		for i := range x.Answers {
			x.Answers[i] = protowire.AppendString(protowire.AppendTag(x.Answers[i], 500, protowire.BytesType), "of tomorrow")
		}
	}
	understand(t, all)
}

func understand(t *testing.T, all []exchange) {
	t.Helper()
	plugin := replay(t, all)
	described, err := plugin.Describe(t.Context(), &pluginpb.DescribeRequest{})
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := pluginpb.ParseManifest(described.GetManifest())
	if err != nil || manifest.ID != "wordcount" || len(manifest.Tools) != 4 || !manifest.Tools[0].ReadOnly ||
		manifest.Tools[0].Risk != "low" {
		t.Fatalf("it describes itself as %+v, %v", manifest, err)
	}
	if _, err := plugin.Configure(t.Context(), &pluginpb.ConfigureRequest{}); err != nil {
		t.Fatal(err)
	}
	calls, err := plugin.Call(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	counted := ended(t, calls)
	if len(counted) != 4 || counted[0].GetProgress().GetMessage() != "reading" ||
		string(counted[1].GetOutput().GetData()) != "out\n" ||
		counted[2].GetOutput().GetStream() != pluginpb.Output_STREAM_STDERR ||
		string(counted[2].GetOutput().GetData()) != "err\xff\n" {
		t.Errorf("it told %v", counted)
	}
	if r := last(counted); r.AgentText() != "2 lines" || string(r.GetStructured()) != `{"lines":2}` ||
		len(r.ContentBlocks()) != 0 {
		t.Errorf("it counted %v", r)
	}
	if e := last(ended(t, calls)).GetError(); e.GetCode() != pluginpb.CodeAccessDenied ||
		e.GetRule() != "workspace.outside" {
		t.Errorf("outside: %v", e)
	}
	if r := last(ended(t, calls)); r.AgentText() != "a picture" || len(r.ContentBlocks()) != 2 ||
		r.ContentBlocks()[1].GetMediaType() != "image/png" ||
		string(r.ContentBlocks()[1].GetData()) != "\x89PNG" || r.GetUndo() != "20261126-1" {
		t.Errorf("the picture is %v", r)
	}
	if r := last(ended(t, calls)); r.AgentText() != `{"n":3}` {
		t.Errorf("the number is %v", r)
	}
	if e := last(ended(t, calls)).GetError(); e.GetCode() != pluginpb.CodeConflict || e.GetMessage() != "no" ||
		e.GetHint() != "try again" {
		t.Errorf("the failure is %v", e)
	}
}

// ended makes a call and returns what came of it.
func ended(t *testing.T, calls pluginpb.Plugin_CallClient) []*pluginpb.CallEvent {
	t.Helper()
	if err := calls.Send(&pluginpb.CallRequest{Answers: true}); err != nil {
		t.Fatal(err)
	}
	var events []*pluginpb.CallEvent
	for {
		event, err := calls.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if events = append(events, event); event.GetResult() != nil {
			return events
		}
	}
}

func last(events []*pluginpb.CallEvent) *pluginpb.Result { return events[len(events)-1].GetResult() }

// What an older host asked is understood, too.
func TestPluginAcceptsOlderHost(t *testing.T) {
	for _, x := range transcript(t) {
		var configure pluginpb.ConfigureRequest
		var call pluginpb.CallRequest
		switch x.Method {
		case "Configure":
			if err := proto.Unmarshal(x.Request, &configure); err != nil || !bytes.Contains(configure.GetPolicy(), []byte(`"restrict_to_workspace":true`)) {
				t.Errorf("%v, %v", &configure, err)
			}
		case "Call":
			if err := proto.Unmarshal(x.Request, &call); err != nil || call.GetTool() == "" || call.GetAnswers() ||
				call.GetAnswer() != nil {
				t.Errorf("%v, %v", &call, err)
			}
		}
	}
}
