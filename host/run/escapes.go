package run

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// terminalEscapeFilter removes from a program's output escape sequences that read the clipboard, write much to it, set
// long titles, or save files. It tracks the terminal's modes, so that they can be reset.
type terminalEscapeFilter struct {
	state   escapeFilterState
	held    []byte // of a sequence that is not complete
	dropped bool   // the sequence is too long

	prefix string // before each title
	title  string // the last one
	modes  []string
}

type escapeFilterState int

const (
	inText escapeFilterState = iota
	afterEscape
	inControl // ESC [
	inCommand // ESC ]
	commandEscape
)

const (
	maxCommand   = 256 << 10 // bytes of an operating system command
	maxClipboard = 100 << 10 // bytes of base64 to the clipboard
	maxTitle     = 200
	maxControl   = 128
)

// filterOutput returns the part of the program's next output that may reach the terminal.
func (f *terminalEscapeFilter) filterOutput(p []byte) []byte {
	if f.state == inText && bytes.IndexByte(p, escape) < 0 {
		return p
	}
	out := make([]byte, 0, len(p)+maxControl)
	for _, c := range p {
		out = f.filterByte(out, c)
	}
	return out
}

const (
	escape = 0x1b
	bell   = 0x07
)

// filterByte processes one byte, and appends the output that is complete to out.
func (f *terminalEscapeFilter) filterByte(out []byte, c byte) []byte {
	switch f.state {
	case inText:
		if c != escape {
			return append(out, c)
		}
		f.state, f.held, f.dropped = afterEscape, append(f.held[:0], c), false
		return out
	case afterEscape:
		f.held = append(f.held, c)
		switch c {
		case '[':
			f.state = inControl
		case ']':
			f.state = inCommand
		case escape:
			f.held = f.held[:1]
			return append(out, escape)
		default:
			return f.releaseHeld(out)
		}
		return out
	case inControl:
		f.held = append(f.held, c)
		if c >= 0x40 && c <= 0x7e {
			return f.filterControlSequence(out)
		}
		if len(f.held) > maxControl || c == escape {
			return f.releaseHeld(out)
		}
		return out
	case commandEscape:
		if c == '\\' {
			return f.filterOSCSequence(out, []byte{escape, '\\'})
		}
		f.state = inCommand
	}
	switch c {
	case bell:
		return f.filterOSCSequence(out, []byte{bell})
	case escape:
		f.state = commandEscape
	case 0x18, 0x1a: // cancelled
		f.state = inText
	default:
		if len(f.held) < maxCommand {
			f.held = append(f.held, c)
		} else {
			f.dropped = true
		}
	}
	return out
}

// releaseHeld appends the held bytes to out unchanged.
func (f *terminalEscapeFilter) releaseHeld(out []byte) []byte {
	f.state = inText
	return append(out, f.held...)
}

// filterControlSequence filters a complete control sequence and records private modes. It drops requests for the title,
// which the terminal would answer as input.
func (f *terminalEscapeFilter) filterControlSequence(out []byte) []byte {
	text := string(f.held[2:])
	switch last := text[len(text)-1]; {
	case last == 't' && (strings.HasPrefix(text, "20") || strings.HasPrefix(text, "21")):
		f.state = inText
		return out
	case (last == 'h' || last == 'l') && strings.HasPrefix(text, "?"):
		for mode := range strings.SplitSeq(text[1:len(text)-1], ";") {
			f.modes = slices.DeleteFunc(f.modes, func(other string) bool { return other == mode })
			if last == 'h' && mode != "25" || last == 'l' && mode == "25" {
				f.modes = append(f.modes, mode)
			}
		}
	}
	return f.releaseHeld(out)
}

// filterOSCSequence filters a complete operating system command, such as a title or clipboard text.
func (f *terminalEscapeFilter) filterOSCSequence(out, terminator []byte) []byte {
	f.state = inText
	if f.dropped {
		return out
	}
	text := string(f.held[2:])
	kind, rest, _ := strings.Cut(text, ";")
	switch kind {
	case "0", "1", "2":
		f.title = cleanTitle(rest)
		return append(append(append(out, escape, ']'), kind+";"+f.prefix+f.title...), terminator...)
	case "52":
		_, data, _ := strings.Cut(rest, ";")
		if strings.HasPrefix(data, "?") || len(data) > maxClipboard {
			return out
		}
	case "1337", "5522", "50":
		return out
	}
	return append(append(out, f.held...), terminator...)
}

// cleanTitle shortens a window title and removes control characters.
func cleanTitle(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, text)
	for n := range text {
		if n > maxTitle {
			return text[:n]
		}
	}
	return text
}

// setTitlePrefix sets the text before the program's title, and returns the sequence that shows both.
func (f *terminalEscapeFilter) setTitlePrefix(text string) []byte {
	f.prefix = text
	return []byte("\x1b]2;" + text + f.title + "\a")
}

// modeResetSequences returns the sequences that reset the terminal modes that the program set.
func (f *terminalEscapeFilter) modeResetSequences() []byte {
	var out strings.Builder
	if f.state != inText {
		out.WriteString("\x18") // ends a sequence that is not complete
	}
	for _, mode := range slices.Backward(f.modes) {
		if _, err := strconv.Atoi(mode); err != nil {
			continue
		}
		if mode == "25" {
			out.WriteString("\x1b[?25h")
		} else {
			out.WriteString("\x1b[?" + mode + "l")
		}
	}
	out.WriteString("\x1b[0m")
	f.modes = nil
	return []byte(out.String())
}
