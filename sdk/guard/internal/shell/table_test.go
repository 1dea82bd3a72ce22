package shell

import (
	"maps"
	"math/rand/v2"
	"strconv"
	"testing"
)

// Tables that share what they have in common are like maps that share nothing.
func TestTable(t *testing.T) {
	in := &Interpreter{Memory: new(Memory)}
	equal := func(a, b int) bool { return a == b }
	random := rand.New(rand.NewPCG(1, 2))
	tables, plain := []*table[int]{nil}, []map[string]int{{}}
	for range 20_000 {
		i := random.IntN(len(tables))
		key := strconv.Itoa(random.IntN(20))
		switch random.IntN(8) {
		case 0:
			if len(tables) < 12 {
				tables, plain = append(tables, tables[i]), append(plain, maps.Clone(plain[i]))
			} else {
				j := random.IntN(len(tables))
				tables[j], plain[j] = tables[i], maps.Clone(plain[i])
			}
		case 1:
			unset(in, &tables[i], key)
			delete(plain[i], key)
		default:
			value := random.IntN(3)
			set(in, &tables[i], key, value)
			plain[i][key] = value
		}
		j := random.IntN(len(tables))
		if v, ok := tables[j].get(in, key); v != plain[j][key] || ok != mapHas(plain[j], key) {
			t.Fatalf("get %s: %d %v; want %v", key, v, ok, plain[j])
		}
		if !maps.Equal(maps.Collect(tables[j].all(in)), plain[j]) {
			t.Fatalf("all: %v; want %v", maps.Collect(tables[j].all(in)), plain[j])
		}
		if got, want := same(in, tables[i], tables[j], equal), maps.Equal(plain[i], plain[j]); got != want {
			t.Fatalf("same: %v; want %v: %v and %v", got, want, plain[i], plain[j])
		}
	}
}

func mapHas(m map[string]int, key string) bool {
	_, ok := m[key]
	return ok
}
