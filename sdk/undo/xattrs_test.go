package undo

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestXattrsInJSON(t *testing.T) {
	t.Parallel()
	for _, want := range []xattrs{nil, {}, {"user.a": {}, "user.\xff\xfe": []byte("\xff"), "user.ü\x01": []byte("v"), "user.\ufffd": []byte("w")}} {
		text, err := json.Marshal(fileObject{Attributes: want})
		var got fileObject
		if err == nil {
			err = json.Unmarshal(text, &got)
		}
		if diff := cmp.Diff(want, got.Attributes); err != nil || diff != "" {
			t.Errorf("%s: %v %s", text, err, diff)
		}
	}
	var got xattrs
	if err := json.Unmarshal([]byte(`{"\u0000!": ""}`), &got); err == nil {
		t.Error("a name that is not Base64 is accepted")
	}
}
