package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// job is a statement that runs beside those that follow it.
type job struct {
	stmt   *syntax.Stmt
	source string // the text that it is in
	span   Span
	calls  []frame // the functions that it is in
	stdin  Stream
	runs   []run   // how it was followed, with one state of the files and another: never none
	differ bool    // whether following it once more may come to something else with the same files
	known  []world // in which it needn't be followed again
}

// world is what a job may heed of what runs beside it.
type world struct {
	files      *table[Stream]
	everywhere [6]int
}

const (
	maxJobs = 64 // that are followed beside other statements
	maxRuns = 8  // of a job that are kept; ways that others are followed on come back to what was there before
)

// job follows a statement that runs in the background, and notes it: what it reads may be written by what follows it.
func (in *Interpreter) job(s *syntax.Stmt, st *state, stdin Stream, place *Place) ([]*state, Stream) {
	if in.beside {
		return in.command(s, st, stdin, place)
	}
	r, repeatable := in.record(st, func(st *state) ([]*state, Stream) { return in.command(s, st, stdin, place) })
	r.reads = slices.Clone(r.reads)
	switch {
	case slices.ContainsFunc(in.jobs, func(j *job) bool { return j.stmt == s && j.before(in, r.before) }):
	case len(in.jobs) == maxJobs:
		in.problem(place, TooComplex, "too many background jobs to follow")
	default:
		in.jobs = append(in.jobs, &job{stmt: s, source: in.source, span: in.span, calls: slices.Clone(in.calls), stdin: stdin, runs: []run{r}, differ: !repeatable || in.singly, known: []world{{r.before.files, r.everywhere}}})
	}
	return r.after, r.out
}

// before says whether the job was followed before where it did the same as it would now.
func (j *job) before(in *Interpreter, st *state) bool {
	return !j.differ && slices.ContainsFunc(j.runs, func(r run) bool { return in.alike(&r, st) })
}

// besides follows the jobs again that would do something else now, as what they read was written meanwhile.
func (in *Interpreter) besides(st *state) {
	if in.beside {
		return
	}
	source, span, calls, breaks, returns := in.source, in.span, in.calls, in.breaks, in.returns
	in.beside, in.breaks, in.returns = true, nil, nil
	in.later++
	in.parallel++
	now := world{st.files, in.everywhere()}
	for _, j := range in.jobs {
		if slices.Contains(j.known, now) {
			continue
		}
		if j.differ {
			j.known = j.known[:0]
		}
		j.known = append(j.known[max(0, len(j.known)-maxRuns+1):], now)
		again := j.runs[0].before.clone()
		if again.files = st.files; j.before(in, again) {
			continue
		}
		in.source, in.span, in.calls = j.source, j.span, j.calls
		place := in.place(j.stmt, again)
		r, repeatable := in.record(again, func(st *state) ([]*state, Stream) { return in.command(j.stmt, st, j.stdin, place) })
		r.reads, j.differ = slices.Clone(r.reads), j.differ || !repeatable
		j.runs = append(j.runs[max(0, len(j.runs)-maxRuns+1):], r)
		in.places.put(place)
	}
	in.parallel--
	in.later--
	in.beside, in.source, in.span, in.calls, in.breaks, in.returns = false, source, span, calls, breaks, returns
}

// left follows the left side of a pipe again, as what it reads was written by the right side.
func (in *Interpreter) left(stmt *syntax.Stmt, st *state, stdin Stream) {
	breaks, returns := in.breaks, in.returns
	in.beside, in.breaks, in.returns = true, nil, nil
	in.later++
	in.stmt(stmt, st, stdin)
	in.later--
	in.beside, in.breaks, in.returns = false, breaks, returns
}
