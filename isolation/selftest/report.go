package selftest

import "github.com/picoclaw/picoclaw/isolation"

// Report is how a sandbox took the attacks.
type Report struct {
	Identity string   `json:"identity"` // what was attacked: see Check
	Results  []Result `json:"results"`  // in the order of Walls
}

// Result is how one attack ended.
type Result struct {
	Wall string `json:"wall"`          // the name of what was attacked
	Got  string `json:"got,omitempty"` // what was got; empty if it held
}

// Held reports whether the attack came to nothing.
func (r Result) Held() bool { return r.Got == "" }

// Broken returns the walls that this machine could have, and that did not hold.
func (r *Report) Broken(m Mode, machine isolation.Offers) []Result {
	var broken []Result
	for n, wall := range Walls {
		if result := r.Results[n]; !result.Held() && wall.needs(m).met(machine) {
			broken = append(broken, result)
		}
	}
	return broken
}

// complete reports whether the report is about the walls that there are now.
func (r *Report) complete() bool {
	if len(r.Results) != len(Walls) {
		return false
	}
	for n, wall := range Walls {
		if r.Results[n].Wall != wall.Name {
			return false
		}
	}
	return true
}
