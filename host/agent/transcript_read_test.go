package agent

import (
	"slices"
	"testing"
)

// FuzzTranscript reads files. Whatever is taken can be sent to a model: each call has its one result, right behind.
func FuzzTranscript(f *testing.F) {
	const head = `{"transcript":{"version":1,"key":"test"}}` + "\n"
	for _, lines := range []string{
		`{"message":{"role":"user","text":"go"}}` + "\n",
		`{"message":{"role":"assistant","calls":[{"id":"1"},{"id":"2"}]}}` + "\n" + `{"message":{"role":"tool","call_id":"2"}}` + "\n",
		`{"message":{"role":"tool"}}` + "\n" + `{"context":{"kept":1,"message":{"role":"user"}}}` + "\n" + `{"mess`,
		`{"message":{"role":"assistant","calls":[{"id":"1"},{"id":"1"}]}}` + "\n" + `{"message":{"role":"user"}}` + "\n",
	} {
		f.Add([]byte(head + lines))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseTranscript(data)
		if err != nil {
			return
		}
		if r.validBytes > len(data) || r.validBytes < len(data) && len(r.repairs) == 0 {
			t.Errorf("%d of %d bytes are whole, and the repairs are %q", r.validBytes, len(data), r.repairs)
		}
		all := slices.Concat(r.messages, r.missing)
		for i := 0; i < len(all); i++ {
			if all[i].Role == ToolResult {
				t.Fatalf("message %d is the result of no call: %+v", i, all)
			}
			open := make(map[string]int)
			for _, c := range all[i].Calls {
				open[c.ID]++
			}
			for range all[i].Calls {
				if i++; i >= len(all) || all[i].Role != ToolResult || open[all[i].CallID] == 0 {
					t.Fatalf("a call has no result, or two: %+v", all)
				}
				open[all[i].CallID]--
			}
		}
	})
}
