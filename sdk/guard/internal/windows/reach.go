package windows

import (
	"regexp"
	"strings"
)

// reach matches words of PowerShell that call methods which run code, start programs or fetch them, and the types that have
// such methods.
var reach = regexp.MustCompile(`(?i)\.\s*(invoke(script|command|member|expression)?|expandstring|shellexecute|downloadstring|downloadfile|downloaddata|createinstance|gettype|getmethod|frombase64string|run|exec)\b` +
	`|^\[(system\.)?(scriptblock|diagnostics\.process|reflection\.|activator|appdomain|net\.webclient|net\.sockets|runtime\.interopservices|management\.automation|microsoft\.win32|management\.|convert\]::from|io\.directory\]::delete|text\.encoding\]::\w+\.getstring)`)

// Reaches returns the part of a word by which it reaches code that nobody can read; "" if there is none.
func Reaches(word string) string {
	if !strings.ContainsAny(word, ".[") {
		return ""
	}
	return reach.FindString(word)
}
