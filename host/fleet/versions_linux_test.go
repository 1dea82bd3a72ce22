package fleet

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/picoclaw/picoclaw/host/fleet/subject"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// newer is what a worker says that is of the next version, in messages that this one can read, or not.
func newer(t *testing.T, f *Fleet, needs *int) {
	t.Helper()
	place := fmt.Sprintf(`{"v":2,"needs":%d,"worker":"new","instance":"x","zone":"b"}`, *needs)
	epoch, err := f.placement.Put(t.Context(), "main", []byte(place))
	if err != nil {
		t.Fatal(err)
	}
	for verb, says := range map[string]string{
		subject.Tools: `"kind":"tools","hue":7}` + "\n" + `{"tools":[],"instructions":"of the next version","songs":[1]}`,
		subject.Call:  `"kind":"answer","result":{"answered":true,"mood":"good"},"trail":["a"]}` + "\nthe answer",
	} {
		_, err := f.conn.Subscribe(f.to("main", verb), func(m *nats.Msg) {
			r, _, err := decode[request](m.Data)
			if err != nil {
				t.Error(err)
				return
			}
			_ = m.Respond(fmt.Appendf(nil, `{"v":2,"needs":%d,"id":%q,"epoch":%d,%s`, *needs, r.ID, epoch, says))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := f.conn.Flush(); err != nil {
		t.Fatal(err)
	}
}

// While a fleet is upgraded, neighbours are of two versions. TestWhatIsNoCallersIsNotServed has the other way.
func TestAWorkerOfTheNextVersionIsUnderstood(t *testing.T) {
	address := startNATS(t)
	needs := 1
	newer(t, joined(t, address, "new"), &needs)
	s := caller(t, joined(t, address, "gateway"), "main")
	if got := s.Instructions(); got != "of the next version" {
		t.Error(got)
	}
	if r := s.Call(t.Context(), "any", args(""), nil); r.Err != nil || r.Text != "the answer" || !r.Answered {
		t.Errorf("%+v %v", r, r.Err)
	}
	needs = 2
	if r := s.Call(t.Context(), "any", args(""), nil); r.Err == nil || r.Err.Code != CodeUnknown ||
		!strings.Contains(r.Err.Message, "upgrade the picoclaw here") {
		t.Errorf("%+v %v", r, r.Err)
	}
}

// The journal of the version before has no sums, and is read: what has begun there is not begun again.
func TestAJournalOfTheVersionBeforeIsRead(t *testing.T) {
	path := hosttest.TempDir(t) + "/journal"
	j := opened(t, path)
	text := "{\"begun\":\"a\",\"digest\":\"x\"}\n{\"done\":\"a\",\"length\":6}\nanswer{\"begun\":\"b\",\"digest\":\"y\"}\n"
	if _, err := j.file.WriteAt([]byte(text), 0); err != nil {
		t.Fatal(err)
	}
	j = opened(t, path)
	if _, answer, err := j.find("a"); err != nil || string(answer) != "answer" {
		t.Errorf("%q %v", answer, err)
	}
	if c, _, err := j.find("b"); err != nil || c == nil {
		t.Errorf("%+v %v", c, err)
	}
}
