package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func TestABrokenLineIsAnsweredAndTheNextIsRead(t *testing.T) {
	ping := `{"jsonrpc":"2.0","id":7,"method":"ping"}`
	for name, test := range map[string]struct {
		line string
		code float64
	}{
		"garbage":      {"garbage", jsonrpc.CodeParseError},
		"half":         {`{"jsonrpc":"2.0",`, jsonrpc.CodeParseError},
		"no message":   {`{"a":1}`, jsonrpc.CodeInvalidRequest},
		"a number":     {`7`, jsonrpc.CodeInvalidRequest},
		"too long":     {`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", maxFrame) + `"}`, jsonrpc.CodeInvalidRequest},
		"binary":       {"\x00\xff\xfe", jsonrpc.CodeParseError},
		"deep nesting": {strings.Repeat("[", 100000), jsonrpc.CodeParseError},
	} {
		t.Run(name, func(t *testing.T) {
			answers, writer := io.Pipe()
			c, err := Lines{Reader: strings.NewReader(test.line + "\n\n  \n" + ping), Writer: writer}.Connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			answer, err := bufio.NewReader(answers).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				ID    any
				Error struct{ Code float64 }
			}
			if err := json.Unmarshal([]byte(answer), &got); err != nil || got.ID != nil || got.Error.Code != test.code {
				t.Errorf("the answer is %s (%v); want code %v", answer, err, test.code)
			}
			next, err := c.Read(t.Context())
			if r, ok := next.(*jsonrpc.Request); err != nil || !ok || r.Method != "ping" {
				t.Errorf("what came next is %v, %v", next, err)
			}
			if _, err := c.Read(t.Context()); !errors.Is(err, io.EOF) {
				t.Errorf("at the end: %v", err)
			}
		})
	}
}

func TestClosingEndsAWaitingRead(t *testing.T) {
	reader, _ := io.Pipe()
	c, err := Lines{Reader: reader, Writer: io.Discard}.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { _, err := c.Read(context.Background()); ended <- err }()
	for range 2 {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-ended; err == nil {
		t.Error("a closed connection has read something")
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	f.Add([]byte("x\n{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Lines{Reader: strings.NewReader(string(data)), Writer: io.Discard}.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := c.Read(t.Context()); err != nil {
				if !errors.Is(err, io.EOF) {
					t.Fatalf("reading ended with %v", err)
				}
				return
			}
		}
	})
}
