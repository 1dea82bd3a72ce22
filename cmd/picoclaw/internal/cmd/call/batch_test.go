package call

import (
	"encoding/json"
	"testing"
)

// FuzzBatchLine: what is taken for a call is one JSON object to everybody else too, with the same tool in it.
func FuzzBatchLine(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"tool":"read_file","args":{"path":"a"},"agent":"main"}`, `{"tool":"a","tool":"b"}`, `{"TOOL":"a"}`,
		`{"id":{"a":[1,{}]},"args":null}`, `{} {}`, `[]`, `{"tool":"\ud800"}`, "{\"tool\":\"\xff\"}", `{"id":`,
		` {"tool" : "\u0061"} `,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		line, err := parseBatchCall(text)
		if err != nil {
			return
		}
		var other struct {
			ID    json.RawMessage `json:"id"`
			Tool  string          `json:"tool"`
			Agent string          `json:"agent"`
		}
		if err := json.Unmarshal(text, &other); err != nil {
			t.Fatalf("%q is taken for a call, and is not JSON: %v", text, err)
		}
		if line.Tool != other.Tool || line.Agent != other.Agent || string(line.ID) != string(other.ID) {
			t.Errorf("%q is read as %+v by one and as %+v by another", text, line, other)
		}
	})
}
