package programs

// lines puts the pieces of a program together that several options gave: sed takes each of them for a line of one program.
func lines(uses []Use) []Use {
	first := -1
	kept := uses[:0]
	for _, use := range uses {
		if use.Kind != Code || first < 0 {
			if use.Kind == Code {
				first = len(kept)
			}
			kept = append(kept, use)
			continue
		}
		kept[first].Text += "\n" + use.Text
	}
	return kept
}
