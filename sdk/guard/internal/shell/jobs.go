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
	run    run            // how it was last followed
	differ bool           // whether following it once more may come to something else with the same files
	files  *table[Stream] // with which it needn't be followed again
}

// maxJobs is how many jobs are followed beside other statements.
const maxJobs = 64

// job follows a statement that runs in the background, and notes it: what it reads may be written by what follows it.
func (in *Interpreter) job(s *syntax.Stmt, st *state, stdin Stream, place *Place) ([]*state, Stream) {
	if in.beside {
		return in.command(s, st, stdin, place)
	}
	r, repeatable := in.record(st, func(st *state) ([]*state, Stream) { return in.command(s, st, stdin, place) })
	r.reads = slices.Clone(r.reads)
	switch {
	case slices.ContainsFunc(in.jobs, func(j *job) bool { return j.stmt == s && !j.differ && in.alike(&j.run, r.before) }):
	case len(in.jobs) == maxJobs:
		in.problem(place, TooComplex, "too many background jobs to follow")
	default:
		in.jobs = append(in.jobs, &job{stmt: s, source: in.source, span: in.span, calls: slices.Clone(in.calls), stdin: stdin, run: r, differ: !repeatable || in.singly, files: r.before.files})
	}
	return r.after, r.out
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
	for _, j := range in.jobs {
		if j.files == st.files {
			continue
		}
		j.files = st.files
		again := j.run.before.clone()
		if again.files = st.files; !j.differ && in.alike(&j.run, again) {
			continue
		}
		in.source, in.span, in.calls = j.source, j.span, j.calls
		place := in.place(j.stmt, again)
		var repeatable bool
		j.run, repeatable = in.record(again, func(st *state) ([]*state, Stream) { return in.command(j.stmt, st, j.stdin, place) })
		j.run.reads, j.differ = slices.Clone(j.run.reads), j.differ || !repeatable
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
