package pluginpb_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// A field of the guard's policy that is not carried would silently widen what a plugin allows. The commands' home opens
// something, to nothing but the host's decisions on commands: a plugin does with less.
func TestPolicyComesOffTheWireAsItWentOn(t *testing.T) {
	var want guard.Policy
	fill(t, reflect.ValueOf(&want).Elem())
	want.Exec.Home, want.Exec.Rules, want.Kernel = "", nil, false // commands are decided on in the host
	encoded, err := proto.Marshal(pluginpb.NewPolicy(want))
	if err != nil {
		t.Fatal(err)
	}
	var wire pluginpb.Policy
	if err := proto.Unmarshal(encoded, &wire); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, wire.Guard()); diff != "" {
		t.Errorf("(-sent +received)\n%s", diff)
	}
}

// fill gives every field a value that isn't its zero value.
func fill(t *testing.T, v reflect.Value) {
	for i := range v.NumField() {
		field := v.Field(i)
		name := v.Type().Field(i).Name
		switch field.Kind() {
		case reflect.String:
			field.SetString(name)
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Int64:
			field.SetInt(int64(i) + 1)
		case reflect.Slice:
			if field.Type().Elem().Kind() == reflect.String {
				field.Set(reflect.ValueOf([]string{name + "1", name + "2"}))
			}
		case reflect.Struct:
			fill(t, field)
		default:
			t.Fatalf("%s is a %s, which the test doesn't know", name, field.Kind())
		}
	}
}
