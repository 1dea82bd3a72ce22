// Package replace finds the place in a text that an edit means.
//
// A place is found exactly, or else differing in nothing but line endings, or else in nothing but the unit of
// indentation; and only if it is the only one. Nothing looser is ever taken: what is left is a miss, which tells the
// nearest places. The package works on strings and must not know of files or tools.
package replace
