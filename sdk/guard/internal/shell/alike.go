package shell

import "slices"

// onEach follows something on each of several ways. Ways that differ only in what it doesn't look at it leads to the same: it is followed
// on the first of them, and the others change as that one does. So a text that goes many ways, of which hardly a command heeds the
// difference, costs little more than one that goes a single way.
func (in *Interpreter) onEach(states []*state, follow func(*state) ([]*state, Stream), done func(after []*state, out Stream)) {
	if len(states) == 1 {
		done(follow(states[0]))
		return
	}
	if in.singly {
		for _, st := range states {
			done(follow(st))
		}
		return
	}
	runs := make([]run, 0, len(states))
	in.comparing++
	for i, st := range states {
		if like := slices.IndexFunc(runs, func(r run) bool { return in.alike(&r, st) }); like >= 0 {
			in.steps++
			done(in.again(&runs[like], st), runs[like].out)
			continue
		}
		if i == len(states)-1 {
			done(follow(st))
			continue
		}
		r, repeatable := in.record(st, follow)
		if repeatable {
			runs = append(runs, r)
		}
		done(r.after, r.out)
	}
	if in.comparing--; in.comparing == 0 && in.recording == 0 { // nobody needs them any more
		clear(in.reads)
		in.reads = in.reads[:0]
	}
}

// record follows something on a way, and says whether it may be done again on another one: it has left nothing behind but states.
func (in *Interpreter) record(st *state, follow func(*state) ([]*state, Stream)) (r run, repeatable bool) {
	r = run{before: st.clone(), everywhere: in.everywhere()}
	from, loops, functions, gone, jobs := len(in.reads), times(in.breaks), times(in.returns), in.gone, len(in.jobs)
	in.recording++
	r.after, r.out = follow(st)
	in.recording--
	r.reads = in.reads[from:]
	return r, !in.stopped && len(r.reads) <= maxReads && r.everywhere == in.everywhere() && gone == in.gone && jobs == len(in.jobs) &&
		loops == times(in.breaks) && functions == times(in.returns)
}

const (
	maxReads    = 4096 // that are compared with what two ways differ in
	maxApart    = 16   // entries that two ways differ in and are still compared
	maxCompared = 256  // entries that two ways have each of its own
)

// run is how something was followed on one way.
type run struct {
	before     *state
	after      []*state
	out        Stream
	reads      []read
	everywhere [6]int
}

// read is that an entry of a table was looked at, or its keys.
type read struct {
	entry any               // an *entry, nil if there was none
	keys  func(string) bool // rather, those that would have been kept
	hash  uint32            // of the entry's key
	kind  bool              // of the entry only whether it is simple
}

// looked notes that an entry was looked at.
func looked[V any](in *Interpreter, hash uint32, e *entry[V]) {
	if in.recording > 0 {
		in.reads = append(in.reads, read{hash: hash, entry: e})
	}
}

// lookedAt notes that a text was looked at.
func (in *Interpreter) lookedAt(text *string) {
	if in.recording > 0 {
		in.reads = append(in.reads, read{entry: text})
	}
}

// listed notes that keys were looked at.
func listed[V any](in *Interpreter, _ *table[V], keep func(string) bool) {
	if in.recording > 0 {
		in.reads = append(in.reads, read{entry: (*entry[V])(nil), keys: keep})
	}
}

// alike says whether what was followed on one way would do the same on another one.
func (in *Interpreter) alike(r *run, st *state) bool {
	b := r.before
	defer func(work int) { in.work = work }(in.work) // it is bounded by what the run took
	return b.dir == st.dir && b.doubt == st.doubt && b.adrift == st.adrift && b.strict == st.strict && b.dead == st.dead && b.depth == st.depth && b.drained == st.drained && b.file == st.file &&
		b.trap == st.trap && b.input == st.input && b.printer == st.printer &&
		(b.files == nil) == (st.files == nil) &&
		slices.Equal(b.params, st.params) && slices.Equal(b.stack, st.stack) && slices.EqualFunc(b.locals, st.locals, local.same) &&
		in.unreadDir(r.reads, b.oldDir, st.oldDir) &&
		r.everywhere == in.everywhere() &&
		unread(in, r.reads, b.vars, st.vars, sameVariable, isList) && unread(in, r.reads, b.files, st.files, Stream.same, nil) &&
		unread(in, r.reads, b.funcs, st.funcs, identical, nil) && unread(in, r.reads, b.outer, st.outer, identical, nil) &&
		unread(in, r.reads, b.aliases, st.aliases, identical, nil) && unread(in, r.reads, b.exported, st.exported, identical, nil) &&
		unread(in, r.reads, b.integers, st.integers, identical, nil) && unread(in, r.reads, b.readonly, st.readonly, identical, nil)
}

// unread says whether nothing was looked at in which two tables differ. What was looked at is only that of the first one if it is the very
// same entry: another one was put there meanwhile, which would be so with the second one, too.
func unread[V any](in *Interpreter, reads []read, before, other *table[V], equal func(V, V) bool, special func(V) bool) bool {
	differ, compared := 0, 0
	return before == other || apart(in, before, other, 0, func(ours, theirs *entry[V]) bool {
		which, alone := either(ours, theirs), ours == nil || theirs == nil
		same := !alone && equal(ours.value, theirs.value)
		if !same {
			differ++
		}
		if compared++; differ > maxApart || compared > maxCompared {
			return false
		}
		simple := special != nil && !special(ours.content()) && !special(theirs.content())
		for i := range reads {
			switch seen := &reads[i]; {
			case seen.keys != nil:
				if alone && seen.entry == any((*entry[V])(nil)) && seen.keys(which.key) {
					return false
				}
			case same, seen.hash != which.hash, seen.kind && simple:
			case seen.entry == any(ours):
				return false
			}
		}
		if same {
			looked(in, which.hash, theirs) // what is being recorded around counts on it
		}
		return true
	})
}

// unreadDir says the same of where two ways were before.
func (in *Interpreter) unreadDir(reads []read, before, other *string) bool {
	return before == other || !slices.ContainsFunc(reads, func(seen read) bool { return seen.entry == any(before) }) || in.sameText(before, other)
}

// again is where a run leads on another way.
func (in *Interpreter) again(r *run, st *state) []*state {
	after := in.ways.list(len(r.after))
	for _, a := range r.after {
		s := a.clone()
		s.vars = changed(in, r.before.vars, a.vars, st.vars)
		s.files = changed(in, r.before.files, a.files, st.files)
		s.funcs = changed(in, r.before.funcs, a.funcs, st.funcs)
		s.outer = changed(in, r.before.outer, a.outer, st.outer)
		s.aliases = changed(in, r.before.aliases, a.aliases, st.aliases)
		s.exported = changed(in, r.before.exported, a.exported, st.exported)
		s.integers = changed(in, r.before.integers, a.integers, st.integers)
		s.readonly = changed(in, r.before.readonly, a.readonly, st.readonly)
		if a.oldDir == r.before.oldDir {
			s.oldDir = st.oldDir
		}
		after = append(after, s)
	}
	return after
}

// changed is a table with the changes that lead from one to another.
func changed[V any](in *Interpreter, before, after, t *table[V]) *table[V] {
	if before == t {
		return after
	}
	apart(in, before, after, 0, func(was, now *entry[V]) bool {
		if now == nil {
			unset(in, &t, was.key)
		} else {
			set(in, &t, now.key, now.value)
		}
		return true
	})
	return t
}
