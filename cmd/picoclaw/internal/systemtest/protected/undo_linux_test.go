package protected_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

// sequence makes some operations and undoes them, the newest first.
func (w *undoWorld) sequence(seed uint64) (ok bool) {
	w.reset(seed)
	users := w.random.IntN(3) > 0
	for range 10 {
		w.user()
	}
	clear(w.users)
	w.log = []string{fmt.Sprintf("seed %d, users %v", seed, users)}
	for range 1 + w.random.IntN(3) {
		w.run(users)
		for range w.random.IntN(3) {
			if users {
				w.user()
			}
		}
	}
	var named []string
	for _, step := range slices.Backward(w.steps) {
		if wrong := w.undo(step, users, &named); len(wrong) > 0 {
			w.T.Errorf("undo of %q\n%s\nafter\n%s", step.id, strings.Join(wrong, "\n"), strings.Join(w.log, "\n"))
			return false
		}
	}
	return true
}

// Undo restores exactly the paths that commands changed, spares those that the user changed, and names those that it
// cannot restore.
func TestUndoOfCommandsIsExact(t *testing.T) {
	t.Parallel()
	first, count, limit := uint64(1), 25, time.Minute
	if long { // others each time
		first, count, limit = uint64(time.Now().UnixNano()), 1<<30, 5*time.Minute
	}
	if text := os.Getenv("PICOCLAW_TEST_SEED"); text != "" {
		count = 1
		if _, err := fmt.Sscan(text, &first); err != nil {
			t.Fatal(err)
		}
	}
	for _, isolated := range []bool{true, false} {
		t.Run(fmt.Sprintf("isolated=%v", isolated), func(t *testing.T) {
			t.Parallel()
			w := &undoWorld{Agent: clitest.NewAgent(t, isolated, "PICOCLAW_WORKSPACE_PROTECT_ENABLED=true")}
			w.call = w.StartBatch()
			done, failed := 0, 0
			for end := time.Now().Add(limit); done < count && failed < 5 && time.Now().Before(end); done++ {
				if !w.sequence(first + uint64(done)) {
					failed++
				}
			}
			t.Logf("%d sequences", done)
		})
	}
}

// undo undoes a step, and compares: paths of the user's are as the user left them, the others as before the step, or
// they are named.
func (w *undoWorld) undo(step undoStep, users bool, named *[]string) (wrong []string) {
	*named = append(*named, strings.Split(step.lost, "\n")...)
	left := w.snapshot()
	if step.id == "" { // it changed nothing but the times of directories, or all that it changed is named
		for path, text := range left {
			if text != step.before[path] && bothDirs(text, step.before[path]) {
				w.untimed[path] = true
			}
		}
		return nil
	}
	for path := range step.touched {
		if !step.during[path] && left[path] == step.after[path] && !slices.Contains(w.users[path], unseen) { // they took it back, which can't be seen
			delete(step.touched, path)
		}
	}
	r := w.call(clitest.ToolCall{Tool: "undo", Args: map[string]any{"id": step.id}})
	for _, c := range r.Structured.Conflicts {
		*named = append(*named, c.Path)
	}
	now := w.snapshot()
	w.log = append(w.log, fmt.Sprintf("undo %s: %v %v %s", step.id, r.Error, r.Structured.Conflicts, r.Structured.Undo))
	if !r.OK {
		if r.Error.Code != "conflict" || !w.lossy || clitest.DiffSnapshots(left, now) != "" {
			wrong = append(wrong, fmt.Sprintf("undo of %s: %v\n%s", step.id, r.Error, clitest.DiffSnapshots(left, now)))
		}
		*named = append(*named, strings.Split(r.Error.Message, "\n")...) // nothing was undone
	}
	if !w.lossy && (step.lost != "" || len(r.Structured.Conflicts) > 0) {
		wrong = append(wrong, fmt.Sprintf("not covered %q, conflicts %v", step.lost, r.Structured.Conflicts))
	}
	paths := slices.Concat(slices.Collect(maps.Keys(step.before)), slices.Collect(maps.Keys(left)), slices.Collect(maps.Keys(now)))
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		want, is, others := step.before[path], now[path], links(path, step.before, left)
		if step.touched[path] {
			want = w.users[path][len(w.users[path])-1]
		}
		for other, text := range left { // the file had another name
			if modified(is) == modified(text) && !strings.HasPrefix(is, "d") {
				others = append(others, other)
			}
		}
		for _, rename := range w.renames { // it is named where the user moved its directory
			if rest, moved := strings.CutPrefix(path, rename[0]+"/"); moved {
				others = append(others, rename[1]+"/"+rest)
			}
		}
		isNamed := w.names(*named, others)
		isNeeded := slices.ContainsFunc(others, func(other string) bool { return step.touched[other] && sameFile(is, now[other]) })
		for other := range step.touched { // a file of the user's needs the directories above it
			isNeeded = isNeeded || strings.HasPrefix(other, path+"/") && now[other] != "" && strings.HasPrefix(is, "d")
		}
		isNeeded = isNeeded || strings.HasPrefix(is, "d") && slices.ContainsFunc(*named, func(line string) bool { // or a conflict does
			return strings.HasPrefix(line, strings.ToValidUTF8(w.Workspace+path+"/", "\uFFFD"))
		})
		agentsSince := !sameFile(left[path], want)
		if _, err := os.Lstat(w.Workspace + path); err == nil && is == "" {
			continue // its directory can't be read again
		}
		switch {
		case is == want, want == unseen:
		case bothDirs(is, want) && (users || path == "" || w.untimed[path] || !r.OK): // the user, or this test, changed something in it, or nothing was undone
		case step.touched[path] && (sameFile(is, want) || agentsSince && isNamed):
		case step.touched[path] && w.settled[path] && sameFile(is, left[path]): // the undo of a later operation put it there
		case step.during[path] && left[path] == step.after[path] && slices.ContainsFunc(w.users[path], func(was string) bool { return sameFile(is, was) }):
		case !step.touched[path] && (isNamed || isNeeded):
		case !step.touched[path] && is != "" && w.isUsersFile(is, path, now): // in a directory that the operation had moved and then deleted
		case step.former[path] && sameFile(is, left[path]): // the user has changed the file at its next name
		case !step.touched[path] && users && sameFile(is, want): // the user changed another name of the file
		default:
			wrong = append(wrong, fmt.Sprintf("%q, touched %v\n\tbefore %s\n\tleft   %s\n\twant   %s\n\tnow    %s",
				path, step.touched[path], step.before[path], left[path], want, is))
		}
	}
	for _, path := range paths {
		w.settled[path] = w.settled[path] || !sameFile(left[path], now[path])
	}
	return wrong
}

// isUsersFile reports whether a file is one that the user left at another path of the same name, where there is none now.
func (w *undoWorld) isUsersFile(file, path string, now map[string]string) bool {
	for other, texts := range w.users {
		if filepath.Base(other) == filepath.Base(path) && now[other] == "" && sameFile(file, texts[len(texts)-1]) {
			return true
		}
	}
	return false
}

// links returns a path and the other names of its file in some snapshots.
func links(path string, snapshots ...map[string]string) []string {
	all := []string{path}
	for _, snapshot := range snapshots {
		_, file, linked := strings.Cut(lastNumber.FindString(snapshot[path]), "same as ")
		for other, line := range snapshot {
			if linked && strings.HasSuffix(line, "same as "+file) {
				all = append(all, other)
			}
		}
	}
	return all
}

// names reports whether one of some lines begins with one of some paths, or with a directory above it.
func (w *undoWorld) names(lines, paths []string) bool {
	for _, at := range paths {
		for ; len(at) > 1; at = filepath.Dir(at) {
			path := w.Workspace + at
			valid := strings.ToValidUTF8(path, "\uFFFD") // as JSON has it
			for _, form := range []string{valid, strconv.Quote(path), strconv.Quote(valid)} {
				if slices.ContainsFunc(lines, func(line string) bool {
					rest, ok := strings.CutPrefix(line, form)
					return ok && (rest == "" || rest[0] == ' ')
				}) {
					return true
				}
			}
		}
	}
	return false
}

var lastNumber = regexp.MustCompile(`(?s)(same as .*)?\d{9,}$`)

// sameFile reports whether two descriptions are of the same content, with other links and times.
func sameFile(a, b string) bool {
	return lastNumber.ReplaceAllString(a, "") == lastNumber.ReplaceAllString(b, "")
}

func bothDirs(a, b string) bool {
	return strings.HasPrefix(a, "d") && strings.HasPrefix(b, "d") && sameFile(a, b)
}

func withoutTimesOfDirs(all map[string]string) map[string]string {
	all = maps.Clone(all)
	for path, line := range all {
		if strings.HasPrefix(line, "d") {
			all[path] = lastNumber.ReplaceAllString(line, "")
		}
	}
	return all
}
