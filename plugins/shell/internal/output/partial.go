package output

import "unicode/utf8"

// partial is how many bytes at the end of data are the beginning of a character whose rest is still to come.
func partial(data []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
		if last := data[len(data)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return n
			}
			return 0
		}
	}
	return 0
}
