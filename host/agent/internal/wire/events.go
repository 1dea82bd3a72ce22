package wire

import (
	"bufio"
	"bytes"
	"io"
	"iter"
)

// readEvents returns the data of the events in a text/event-stream, without surrounding space. It skips events without
// data, and the last one if no blank line ends it.
func readEvents(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, longestAnswer)
		var data []byte
		for lines.Scan() {
			if len(lines.Bytes()) == 0 {
				if event := bytes.TrimSpace(data); len(event) > 0 && !yield(event, nil) {
					return
				}
				data = nil
				continue
			}
			field, value, _ := bytes.Cut(lines.Bytes(), []byte(":"))
			if string(field) == "data" {
				data = append(append(data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
			}
		}
		if err := lines.Err(); err != nil {
			yield(nil, err)
		}
	}
}
