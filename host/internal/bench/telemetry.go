package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/host/telemetry"
)

// measureTelemetry compares a call that is told to a collector with one that is told to nobody: a collector that takes
// what it is sent, and one that never answers. They take turns.
func measureTelemetry(bin string) error {
	taking := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	defer taking.Close()
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or it would not see that the client has gone
		<-r.Context().Done()
	}))
	defer hanging.Close()
	return withHome(func(home string) (err error) {
		const rounds, warmup = 5000, 500
		var took [3]sample
		var sessions [3]*session.Session
		for i, endpoint := range []string{"", taking.URL, hanging.URL} {
			told, openErr := telemetry.Open(telemetry.Options{Endpoint: endpoint, Sample: 1})
			if openErr != nil {
				return openErr
			}
			defer told.Close(context.Background())
			var tracer session.Tracer
			if told != nil {
				tracer = told
			}
			h, s, openErr := newTracedHost(bin, filepath.Join(home, fmt.Sprint(i)), true, tracer)
			if openErr != nil {
				return openErr
			}
			defer func() { err = errors.Join(err, h.Close(context.Background())) }()
			text := strings.Repeat("0123456789abcde\n", 64)
			if err := os.WriteFile(filepath.Join(s.Policy().Workspace(), "1k"), []byte(text), 0o600); err != nil {
				return err
			}
			sessions[i] = s
		}
		for n := range rounds + warmup {
			for i, s := range sessions {
				if err := took[i].timed(func() error { return call(s, "read_file", `{"path":"1k"}`) }); err != nil {
					return err
				}
			}
			if n == warmup-1 {
				took = [3]sample{}
			}
		}
		off := took[0].p50()
		fmt.Println("read 1 KB through host and isolated plugin")
		fmt.Println("  told to nobody                     ", took[0])
		fmt.Println("  told to a collector                ", took[1])
		fmt.Println("  told to one that never answers     ", took[2])
		fmt.Printf("  telling costs %.3f ms, %.2f times the call (at most 1.15); where nobody answers %.3f ms, %.2f times\n",
			ms(took[1].p50()-off), float64(took[1].p50())/float64(off), ms(took[2].p50()-off),
			float64(took[2].p50())/float64(off))
		return nil
	})
}
