// Package reference writes the parts of the documentation that follow from the program itself: the keys of the
// configuration, the tools, the commands.
//
// It must not say anything that the program does not know.
package reference

// notice begins a page that is made.
const notice = "<!-- Made by `make docs` from the program. Changes belong there. -->\n\n"
