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
	var named strings.Builder
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
			w.call = w.OpenBatch()
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
func (w *undoWorld) undo(step undoStep, users bool, named *strings.Builder) (wrong []string) {
	named.WriteString(step.lost + "\n")
	if step.id == "" {
		return nil // it changed nothing, or all that it changed is named
	}
	left := w.snapshot()
	r := w.call(clitest.Call{Tool: "undo", Args: map[string]any{"id": step.id}})
	for _, c := range r.Structured.Conflicts {
		named.WriteString(c.Path + "\n")
	}
	now := w.snapshot()
	w.log = append(w.log, fmt.Sprintf("undo %s: %v %v %s", step.id, r.Error, r.Structured.Conflicts, r.Structured.Undo))
	if !r.OK {
		if r.Error.Code != "conflict" || !w.lossy || clitest.Diff(left, now) != "" {
			wrong = append(wrong, fmt.Sprintf("undo of %s: %v\n%s", step.id, r.Error, clitest.Diff(left, now)))
		}
		for _, all := range []map[string]string{left, step.before} { // nothing was undone
			for path := range all {
				fmt.Fprintln(named, strings.ToValidUTF8(path, "\uFFFD"))
			}
		}
	}
	if !w.lossy && (step.lost != "" || len(r.Structured.Conflicts) > 0) {
		wrong = append(wrong, fmt.Sprintf("not covered %q, conflicts %v", step.lost, r.Structured.Conflicts))
	}
	paths := slices.Concat(slices.Collect(maps.Keys(step.before)), slices.Collect(maps.Keys(left)), slices.Collect(maps.Keys(now)))
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		was, is, last, others := step.before[path], now[path], "", links(path, step.before, left)
		if users := w.users[path]; len(users) > 0 {
			last = users[len(users)-1]
		}
		isNamed := names(named.String(), others)
		isUsers := slices.ContainsFunc(others, func(other string) bool { return step.touched[other] && sameFile(is, now[other]) })
		for other := range step.touched { // a file of the user's needs the directories above it
			isUsers = isUsers || strings.HasPrefix(other, path+"/") && now[other] != "" && strings.HasPrefix(is, "d")
		}
		agentsSince := !sameFile(left[path], last)
		switch {
		case is == was, bothDirs(is, was) && (users || path == ""):
		case step.touched[path] && (sameFile(is, last) || sameFile(is, left[path]) && (isNamed || !agentsSince)):
		case step.touched[path] && agentsSince && (isNamed || sameFile(is, was)):
		case step.touched[path] && strings.HasPrefix(is, "d") && strings.HasPrefix(last, "d"): // its mode may be the agent's
		case step.touched[path] && left[path] == "" && slices.ContainsFunc(w.users[path], func(text string) bool { return sameFile(is, text) }):
		case step.touched[path] && bothDirs(is, left[path]):
		case !step.touched[path] && (isNamed || isUsers):
		case !step.touched[path] && users && sameFile(is, was):
		default:
			wrong = append(wrong, fmt.Sprintf("%q, touched %v\n\tbefore %s\n\tleft   %s\n\tuser's %s\n\tnow    %s", path, step.touched[path], was, left[path], last, is))
		}
	}
	return wrong
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

// names reports whether a text names one of some paths, or a directory above it.
func names(text string, paths []string) bool {
	for _, at := range paths {
		for ; len(at) > 1; at = filepath.Dir(at) {
			raw := strings.TrimPrefix(at, "/")
			name := strings.ToValidUTF8(raw, "\uFFFD")
			for _, form := range []string{name, strings.Trim(strconv.Quote(name), `"`), strings.Trim(strconv.Quote(raw), `"`)} {
				if strings.Contains(text, form) {
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
