package pluginpolicy_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/pluginpolicy"
)

// A field that is lost on the way would silently widen what a plugin allows.
func TestPolicyRoundTrip(t *testing.T) {
	var want pluginpolicy.Policy
	fill(t, reflect.ValueOf(&want).Elem())
	want.Guard.Exec.Rules = nil // the host alone decides on commands by them
	req, err := want.ToConfigureRequest()
	if err != nil {
		t.Fatal(err)
	}
	got, err := pluginpolicy.ParseRequest(req)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("(-sent +received)\n%s", diff)
	}
}

func TestParseIgnoresUnknownFields(t *testing.T) {
	got, err := pluginpolicy.ParseRequest(&pluginpb.ConfigureRequest{Policy: []byte(`{"guard":{"workspace":"/w"},"new":1}`)})
	if err != nil || got.Guard.Workspace != "/w" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := pluginpolicy.ParseRequest(&pluginpb.ConfigureRequest{}); err == nil {
		t.Error("a request without a policy is accepted")
	}
}

// fill gives every field a value that isn't its zero value.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	for i := range v.NumField() {
		field := v.Field(i)
		name := v.Type().Field(i).Name
		switch {
		case field.Type() == reflect.TypeFor[json.RawMessage]():
			field.Set(reflect.ValueOf(json.RawMessage(`{"a":1}`)))
		case field.Type() == reflect.TypeFor[time.Duration]():
			field.SetInt(int64(time.Duration(i+1) * time.Millisecond))
		case field.Kind() == reflect.String:
			field.SetString(name)
		case field.Kind() == reflect.Bool:
			field.SetBool(true)
		case field.CanInt():
			field.SetInt(int64(i) + 1)
		case field.Type() == reflect.TypeFor[[]string]():
			field.Set(reflect.ValueOf([]string{name + "1", name + "2"}))
		case field.Kind() == reflect.Struct:
			fill(t, field)
		case name == "Rules":
		default:
			t.Fatalf("%s is a %s, which the test doesn't know", name, field.Kind())
		}
	}
}
