package undo

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// A trailer has room for few long paths. It always tells that changes can't be undone.
func TestLongTrailerTellsOfLostChanges(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("d\u00e9/", 1000)
	var many []string
	for range 20 {
		many = append(many, long)
	}
	for name, op := range map[string]Operation{
		"summary": {Summary: "exec: rm " + long, Lost: []string{"a (a socket)"}},
		"names":   {Lost: []string{"a (a socket)"}, Changes: &ChangeSummary{Deleted: 20, Names: many}},
		"marked":  {Lost: []string{"a (a socket)"}, Changes: &ChangeSummary{Changed: 20, RunByTools: many}},
		"lost":    {Lost: many, Changes: &ChangeSummary{Changed: 20}},
		"missing": {Missing: long, Lost: []string{"a (a socket)"}},
		"all":     {Summary: long, Lost: many, Missing: long, Changes: &ChangeSummary{Changed: 20, Names: many, RunByTools: many}},
	} {
		op.ID = "20261130T000000000000000-abcd"
		data, err := marshalTrailer(archiveTrailer{Operation: op})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var read archiveTrailer
		if err := json.Unmarshal(data[:len(data)-checksumSize], &read); err != nil || len(data) != trailerSize-blockSize {
			t.Errorf("%s: %v, %d bytes", name, err, len(data))
		}
		if len(read.Lost) == 0 || len(op.Lost) == 1 && read.Lost[0] != op.Lost[0] || len(read.Lost) < len(op.Lost) && !slices.Contains(read.Lost, moreLost) {
			t.Errorf("%s: %q", name, read.Lost)
		}
	}
}
