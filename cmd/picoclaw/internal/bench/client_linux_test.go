package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
	`"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}` + "\n"

// server is an MCP server on standard input and output, with a tool that reads a file.
type server struct {
	argv   []string
	env    []string
	stderr io.Writer
	tool   string
}

// client is connected to a server that it has started.
type client struct {
	cmd    *exec.Cmd
	tool   string
	in     io.WriteCloser
	out    *bufio.Reader
	answer []byte // the last one; its memory is used again
	calls  int
}

// start starts the server and waits for its answer to initialize.
func (s *server) start() (c *client, err error) {
	cmd := exec.Command(s.argv[0], s.argv[1:]...)
	cmd.Env, cmd.Stderr = s.env, s.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c = &client{cmd: cmd, tool: s.tool, in: in, out: bufio.NewReaderSize(out, 64<<10)}
	_, err = io.WriteString(in, initialize)
	if err = errors.Join(err, c.readLine()); err == nil && !strings.Contains(string(c.answer), `"serverInfo"`) {
		err = fmt.Errorf("%w: %s", errAnswer, c.answer)
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return c, err
}

// close ends the server.
func (c *client) close() error { return errors.Join(c.in.Close(), c.cmd.Wait()) }

// request makes a request, whose answer has to be a success of at least size bytes.
func (c *client) request(method, params string, size int) error {
	c.calls++
	_, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.calls, method, params)
	if err != nil {
		return err
	}
	if err := c.readLine(); err != nil {
		return err
	}
	end := string(c.answer[max(0, len(c.answer)-400):])
	if len(c.answer) < size || strings.Contains(end, `"error"`) || strings.Contains(end, `"isError":true`) {
		return fmt.Errorf("%s %.80s: %w: %d bytes that end in %s", method, params, errAnswer, len(c.answer), end)
	}
	return nil
}

func (c *client) ping() error { return c.request("ping", `{}`, 0) }

// call calls a tool.
func (c *client) call(tool string, args map[string]any) error {
	params, err := json.Marshal(map[string]any{"name": tool, "arguments": args})
	if err != nil {
		return err
	}
	return c.request("tools/call", string(params), 0)
}

// read has a file read, of at least size bytes.
func (c *client) read(path string, size int) error {
	return c.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":{"path":%q}}`, c.tool, path), size)
}

func (c *client) exec(command string) error {
	return c.call("exec", map[string]any{"command": command})
}

// text returns the text of the last answer.
func (c *client) text() (string, error) {
	var answer struct {
		Result struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"result"`
	}
	if err := json.Unmarshal(c.answer, &answer); err != nil || len(answer.Result.Content) == 0 {
		return "", fmt.Errorf("%w: %.300s", errors.Join(errAnswer, err), c.answer)
	}
	return answer.Result.Content[0].Text, nil
}

// readLine reads an answer.
func (c *client) readLine() error {
	c.answer = c.answer[:0]
	for {
		part, err := c.out.ReadSlice('\n')
		c.answer = append(c.answer, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}
