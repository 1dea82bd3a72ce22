package wire

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func collectEvents(t *testing.T, r io.Reader) []string {
	t.Helper()
	var events []string
	for data, err := range readEvents(r) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, string(data))
	}
	return events
}

func TestReadEvents(t *testing.T) {
	for name, test := range map[string]struct {
		stream string
		want   []string
	}{
		"two events":         {"data: 1\n\ndata: 2\n\n", []string{"1", "2"}},
		"CRLF":               {"data: 1\r\n\r\ndata: 2\r\n\r\n", []string{"1", "2"}},
		"no space":           {"data:1\n\n", []string{"1"}},
		"colon in data":      {"data: {\"a\":1}\n\n", []string{`{"a":1}`}},
		"several data lines": {"data: {\ndata:  \"a\": 1\ndata: }\n\n", []string{"{\n \"a\": 1\n}"}},
		"other fields":       {"event: x\nid: 7\nretry: 10\ndata: 1\ndatas: 2\n\n", []string{"1"}},
		"comments":           {": ping\n\n:\ndata: 1\n: pong\n\n", []string{"1"}},
		"empty data":         {"data\n\ndata:\n\ndata: \n\n", nil},
		"blank lines":        {"\n\n\ndata: 1\n\n\n\n", []string{"1"}},
		"no end":             {"data: 1\n\ndata: 2\n", []string{"1"}},
		"empty stream":       {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := collectEvents(t, iotest.OneByteReader(strings.NewReader(test.stream))); !slices.Equal(got, test.want) {
				t.Errorf("the events are %q; want %q", got, test.want)
			}
		})
	}
}

func TestReadEventsReturnsReadError(t *testing.T) {
	broken := errors.New("broken")
	var events []string
	var last error
	for data, err := range readEvents(io.MultiReader(strings.NewReader("data: 1\n\ndata: 2\n"), iotest.ErrReader(broken))) {
		if last = err; err == nil {
			events = append(events, string(data))
		}
	}
	if !slices.Equal(events, []string{"1"}) || !errors.Is(last, broken) {
		t.Errorf("the events are %q, and then %v", events, last)
	}
}

func TestReadEventsKeepsEarlierData(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	if got := collectEvents(t, strings.NewReader("data: 1\n\ndata: "+long+"\n\n")); !slices.Equal(got, []string{"1", long}) {
		t.Errorf("there are %d events", len(got))
	}
}

func FuzzReadEvents(f *testing.F) {
	f.Add([]byte("data: {\"a\":1}\n\n"), []byte("{\n}"))
	f.Add([]byte(": x\r\n\r\ndata\n\n"), []byte(" \r"))
	f.Fuzz(func(t *testing.T, stream, message []byte) {
		for data, err := range readEvents(bytes.NewReader(stream)) {
			if err == nil && (len(data) == 0 || !bytes.Contains(stream, data[:1])) {
				t.Fatalf("%q is an event of %q", data, stream)
			}
		}
		// A message that is sent line by line arrives as it was, whatever comes before it.
		var sent bytes.Buffer
		sent.Write(stream)
		sent.WriteString("\n\n")
		for line := range bytes.SplitSeq(message, []byte("\n")) {
			sent.WriteString("data: ")
			sent.Write(line)
			sent.WriteString("\n")
		}
		sent.WriteString("\n")
		want := bytes.TrimSpace(bytes.ReplaceAll(append(message, '\n'), []byte("\r\n"), []byte("\n")))
		events := collectEvents(t, &sent)
		if len(want) > 0 && (len(events) == 0 || events[len(events)-1] != string(want)) {
			t.Fatalf("%q arrives as %q", want, events)
		}
	})
}
