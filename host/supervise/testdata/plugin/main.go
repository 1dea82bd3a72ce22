// Command plugin is a plugin that behaves, and misbehaves where MISBEHAVE says how.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/picoclaw/picoclaw/sdk"
)

type none struct{}

type text struct {
	Text string `json:"text,omitempty"`
}

type size struct {
	Bytes int `json:"bytes"`
}

func main() {
	switch os.Getenv("MISBEHAVE") {
	case "exit":
		fmt.Fprintln(os.Stderr, "I would rather not")
		os.Exit(7)
	case "silent":
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "tcp":
		fmt.Println("1|2|tcp|127.0.0.1:1|grpc|")
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "elsewhere":
		fmt.Println("1|2|unix|" + os.Getenv("ELSEWHERE") + "|grpc|")
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "older":
		fmt.Println("1|1|unix|" + os.Getenv("PLUGIN_UNIX_SOCKET_DIR") + "/plugin|grpc|")
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	}
	var busy func() bool
	if said, says := os.LookupEnv("BUSY"); says {
		busy = func() bool { return said == "yes" }
	}
	sdk.Main(sdk.Plugin{
		Busy: busy,
		ID:   "tester", Version: "1.0.0", Doc: "Misbehaves.",
		Grants: sdk.Grants{Exec: true},
		Tools: []sdk.Tool{
			sdk.NewTool("environ", "The environment.", func(context.Context, *sdk.Request[none]) (string, error) {
				return strings.Join(os.Environ(), "\n"), nil
			}, sdk.Traits{}),
			sdk.NewTool("pid", "The process id.", func(context.Context, *sdk.Request[none]) (string, error) {
				return fmt.Sprint(os.Getpid()), nil
			}, sdk.Traits{}),
			sdk.NewTool("echo", "The text.", func(_ context.Context, req *sdk.Request[text]) (string, error) {
				return req.Args.Text, nil
			}, sdk.Traits{}),
			sdk.NewTool("fill", "Many bytes.", func(_ context.Context, req *sdk.Request[size]) (string, error) {
				return strings.Repeat("x", req.Args.Bytes), nil
			}, sdk.Traits{}),
			sdk.NewTool("panic", "Panics.", func(context.Context, *sdk.Request[none]) (string, error) {
				panic("on purpose")
			}, sdk.Traits{}),
			sdk.NewTool("crash", "Ends the process while a grandchild holds its pipes.", crash, sdk.Traits{}),
			sdk.NewTool("grandchild", "Starts a process of a session of its own.", grandchild, sdk.Traits{}),
			sdk.NewTool("wait", "Waits until it is cancelled.", func(ctx context.Context, req *sdk.Request[none]) (string,
				error) {
				req.ReportProgress(1, 2, "waiting")
				<-ctx.Done()
				return "", ctx.Err()
			}, sdk.Traits{}),
			sdk.NewTool("finish", "Waits until a file is there.", func(ctx context.Context, req *sdk.Request[text]) (string,
				error) {
				for ctx.Err() == nil {
					if _, err := os.Stat(req.Args.Text); err == nil {
						return "finished", nil
					}
					time.Sleep(time.Millisecond)
				}
				return "", ctx.Err()
			}, sdk.Traits{}),
			sdk.NewTool("late", "Answers, and goes on telling.", func(_ context.Context, req *sdk.Request[none]) (string,
				error) {
				go func() {
					for {
						req.ReportProgress(1, 2, "late")
						time.Sleep(10 * time.Microsecond)
					}
				}()
				return "", nil
			}, sdk.Traits{}),
			sdk.NewTool("ask", "Asks for a word until the answer is to stop.",
				func(ctx context.Context, req *sdk.Request[none]) (string, error) {
					said := ""
					for {
						answer, err := req.Ask(ctx, "And now?", &jsonschema.Schema{Type: "object"})
						if err != nil || answer.Action != "accept" {
							return said + answer.Action, err
						}
						said += string(answer.Values) + " "
					}
				}, sdk.Traits{}),
			sdk.NewTool("deadline", "Says whether the call has a deadline.",
				func(ctx context.Context, _ *sdk.Request[none]) (string, error) {
					_, has := ctx.Deadline()
					return fmt.Sprint(has), nil
				}, sdk.Traits{}),
			sdk.NewTool("stop", "Stops the process as Ctrl-Z does.", func(context.Context, *sdk.Request[none]) (string, error) {
				return "", syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			}, sdk.Traits{}),
		},
	})
}

// start starts a process that outlives everybody who does not end it, with this one's standard error.
func start() (*exec.Cmd, error) {
	cmd := exec.Command("/bin/sleep", "60")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, cmd.Start()
}

func crash(context.Context, *sdk.Request[none]) (string, error) {
	if _, err := start(); err != nil {
		return "", err
	}
	go func() { panic("these are my last words") }()
	select {}
}

func grandchild(context.Context, *sdk.Request[none]) (string, error) {
	cmd, err := start()
	if err != nil {
		return "", err
	}
	return fmt.Sprint(cmd.Process.Pid), nil
}
