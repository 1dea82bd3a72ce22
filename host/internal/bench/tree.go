package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

const (
	treeFiles  = 20_000 // files of a tree, times its size
	perDir     = 16     // files in a directory
	meanLength = 3100   // of a file, in bytes: the tree has 62 MB
	needle     = "NEEDLE_TOKEN"
	needles    = 50 // files with a needle, times the tree's size
)

// growTree makes a tree of source files that is the same every time: words in lines, a fifth of it in a directory that
// .gitignore names, and needles here and there.
func growTree(root string, size int) error {
	random := rand.New(rand.NewPCG(1, uint64(size)))
	if err := os.WriteFile(filepath.Join(root, ".gitignore"), []byte("node_modules/\n"), 0o600); err != nil {
		return err
	}
	kinds := []string{"go", "py", "js", "ts", "md"}
	files := treeFiles * size
	for i := range files {
		top := "src"
		if i%5 == 4 {
			top = "node_modules"
		}
		dir := filepath.Join(root, top, fmt.Sprintf("a%02d", i/perDir%40), fmt.Sprintf("b%02d", i/perDir/40%5),
			fmt.Sprintf("c%03d", i/perDir/200))
		if i%perDir < 5 { // the directory may be a new one
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
		}
		name := fmt.Sprintf("f%06d.%s", i, kinds[i%len(kinds)])
		if i%250 == 0 {
			name = fmt.Sprintf("f%06d_target.go", i)
		}
		if err := os.WriteFile(filepath.Join(dir, name), source(random, i%(files/(needles*size)) == 1), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// source is the contents of a file.
func source(random *rand.Rand, withNeedle bool) []byte {
	var b bytes.Buffer
	length := meanLength/2 + random.IntN(meanLength)
	for b.Len() < length {
		b.WriteString("\t\t"[:random.IntN(3)])
		for range 3 + random.IntN(8) {
			for range 2 + random.IntN(9) {
				b.WriteByte('a' + byte(random.IntN(26)))
			}
			b.WriteByte(' ')
		}
		b.WriteByte('\n')
		if withNeedle && b.Len() > length/2 {
			b.WriteString("\treturn " + needle + "(ctx, value)\n")
			withNeedle = false
		}
	}
	return b.Bytes()
}
