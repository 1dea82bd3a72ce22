package programs

import "testing"

func BenchmarkTable(b *testing.B) {
	for b.Loop() {
		list, err := load()
		if err != nil {
			b.Fatal(err)
		}
		index(list)
	}
}
