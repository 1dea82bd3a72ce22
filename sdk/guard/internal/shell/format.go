package shell

import (
	"strconv"
	"strings"
)

// formatted is what a program prints by the formats among its arguments, with names for what it fills in; "" if it has none.
func formatted(args []string) string {
	var out strings.Builder
	for i, arg := range args {
		format := ""
		switch before := args[max(0, i-1)]; {
		case strings.HasPrefix(arg, "--printf="):
			format = arg[len("--printf="):]
		case strings.HasPrefix(arg, "+") || strings.HasPrefix(arg, "--format="):
			format = strings.TrimPrefix(strings.TrimPrefix(arg, "+"), "--format=") + "\n"
		case i > 0 && before == "-printf":
			format = arg
		case i > 0 && (before == "-c" || before == "-f"):
			format = arg + "\n"
		}
		if format != "" {
			out.WriteString(Formatted(format))
		}
	}
	return out.String()
}

// Formatted is what a program prints by a format as find has it, with a name for each thing that it fills in.
func Formatted(format string) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		if i++; format[i] == '%' {
			b.WriteString("%")
			continue
		}
		for i+1 < len(format) && strings.IndexByte("0123456789.-#+ ", format[i]) >= 0 {
			i++
		}
		if strings.IndexByte("ATC", format[i]) >= 0 && i+1 < len(format) {
			i++
		}
		b.WriteString(Item)
	}
	return strings.ReplaceAll(printf([]string{"%b", b.String()}), Unknown, Item)
}

// sequence is what seq prints of whole numbers: themselves if they are few, else the name of one. It is "" for what seq would refuse,
// and for options.
func sequence(args []string) string {
	first, step, last := "1", "1", ""
	switch len(args) {
	case 1:
		last = args[0]
	case 2:
		first, last = args[0], args[1]
	case 3:
		first, step, last = args[0], args[1], args[2]
	}
	var bounds [3]int
	for i, arg := range []string{first, step, last} {
		n, err := strconv.Atoi(arg)
		switch {
		case HasUnknown(arg) && !strings.HasPrefix(arg, "-"):
			return Item + "\n"
		case err != nil || n < -maxNumber || n > maxNumber:
			return ""
		}
		bounds[i] = n
	}
	at, by, end := bounds[0], bounds[1], bounds[2]
	if by == 0 {
		return ""
	}
	if (end-at)/by >= maxRounds {
		return Item + "\n"
	}
	var out strings.Builder
	for ; by > 0 && at <= end || by < 0 && at >= end; at += by {
		out.WriteString(strconv.Itoa(at) + "\n")
	}
	return out.String()
}

// maxNumber is the largest number that seq is followed to.
const maxNumber = 1 << 30
