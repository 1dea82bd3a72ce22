package doctor

// State is whether a wall stands.
type State string

// The states.
const (
	On         State = "on"
	Off        State = "off"        // the configuration does not ask for it, or it does not hold
	Impossible State = "impossible" // this machine can't have it
)

// Row is what there is to say of one wall.
type Row struct {
	Wall  string `json:"wall"`
	State State  `json:"state"`
	Why   string `json:"why"`
	Fix   string `json:"fix,omitempty"` // what would raise it: a command, or a setting
}

// Report is what there is to say of all.
type Report struct {
	Agent string `json:"agent"`
	// OK is false if something that the configuration asks for does not hold.
	OK   bool  `json:"ok"`
	Rows []Row `json:"walls"`
}

func (r *Report) add(wall string, state State, why, fix string) {
	r.Rows = append(r.Rows, Row{Wall: wall, State: state, Why: why, Fix: fix})
}
