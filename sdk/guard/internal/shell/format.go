package shell

import "strings"

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
