package protected_test

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

//go:embed testdata/mutate.py
var mutator string

// mutatorName is the program in the workspace by which commands make changes, and mutations the file that lists them.
const mutatorName, mutations = ".mutate.py", ".mutate.json"

// undoWorld is a workspace in which the commands of an agent and a user make random changes.
type undoWorld struct {
	*clitest.Agent
	call    func(clitest.ToolCall) clitest.CallResult
	random  *rand.Rand
	users   map[string][]string // each path that the user changed, as the user left it each time
	steps   []undoStep
	log     []string
	untimed map[string]bool // directories whose time a step changed that changed nothing else
	settled map[string]bool // paths that an undo changed
	renames [][2]string     // of the user's
	lossy   bool            // undo may name paths: of users, of threads at once, of files and directories that nobody may read
}

// undoStep is one operation of the agent.
type undoStep struct {
	id      string
	before  map[string]string
	after   map[string]string
	during  map[string]bool // paths that the user touched while the operation ran
	touched map[string]bool // by the user since the operation began
	former  map[string]bool // names that files had before it which the user changed at a later name
	lost    string          // paths that undo does not restore
}

// unseen is the description of a file in a directory that the user may not read.
const unseen = "unseen"

// worldNames are the names at which changes are made: few, so that changes meet.
var worldNames = []string{"a", "b", "c", "x (deleted)", "n\xff", "new\nline", " ", "long" + strings.Repeat("g", 200)}

// paths returns the directories and all paths of the workspace, relative to it.
func (w *undoWorld) paths() (dirs, all []string) {
	_ = filepath.WalkDir(w.Workspace, func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(strings.TrimPrefix(path, w.Workspace), "/")
		if strings.HasPrefix(name, ".mutate") || strings.HasPrefix(name, ".picoclaw") {
			return nil
		}
		if err == nil && d.IsDir() {
			dirs = append(dirs, name)
		}
		if err == nil && name != "" {
			all = append(all, name)
		}
		return nil
	})
	return dirs, all
}

// path returns a random path that exists or could be made.
func (w *undoWorld) path() string {
	dirs, all := w.paths()
	if len(all) > 0 && w.random.IntN(3) > 0 {
		return pick(w.random, all)
	}
	return filepath.Join(pick(w.random, dirs), pick(w.random, worldNames))
}

var agentChanges = []string{"write", "creat", "append", "overwrite", "truncate", "replace", "rename", "rename", "noreplace", "exchange",
	"link", "symlink", "unlink", "rmdir", "rmtree", "mkdir", "mkfifo", "chmod", "utime", "setxattr", "removexattr", "tmpfile", "copy_range",
	"deep", "relative", "held"}

// choose writes down changes for the mutator.
func (w *undoWorld) choose(threads int) {
	all := make([][][]any, threads)
	for i := range all {
		for range 1 + w.random.IntN(6) {
			name := pick(w.random, agentChanges)
			if threads > 1 && slices.Contains([]string{"deep", "relative", "rmtree"}, name) {
				continue // the working directory belongs to the process, and rmtree may open a FIFO
			}
			a, b, n := w.path(), w.path(), w.random.IntN(1000)
			all[i] = append(all[i], []any{name, fmt.Sprintf("%x", a), fmt.Sprintf("%x", b), n})
			w.log = append(w.log, fmt.Sprintf("agent %d: %s %q %q %d", i, name, a, b, n))
		}
	}
	text, err := json.Marshal(all)
	if err == nil {
		err = os.WriteFile(filepath.Join(w.Workspace, mutations), text, 0o644)
	}
	if err != nil {
		w.T.Fatal(err)
	}
}

// run makes an operation of the agent, in the foreground or beside changes of the user's.
func (w *undoWorld) run(users bool) {
	step := undoStep{before: w.snapshot(), touched: map[string]bool{}, former: map[string]bool{}}
	w.steps = append(w.steps, step)
	last := &w.steps[len(w.steps)-1]
	threads := 1
	if w.random.IntN(6) == 0 {
		threads, w.lossy = 2, true
	}
	var r clitest.CallResult
	if users && w.random.IntN(2) == 0 {
		r = w.call(clitest.ToolCall{Tool: "exec", Args: map[string]any{"command": "exec python3 " + mutatorName, "background": true}})
		session := r.Structured.Session
		process := func(args map[string]any) clitest.CallResult {
			args["session"] = session
			return w.call(clitest.ToolCall{Tool: "process", Args: args})
		}
		for range 1 + w.random.IntN(3) {
			w.choose(threads)
			r = process(map[string]any{"action": "write", "data": "\n"})
			for ended := false; r.OK && !ended; {
				r = process(map[string]any{"action": "poll", "wait": 10})
				ended = strings.Contains(r.Structured.Output, "done") || !isRunning(r)
			}
			for range w.random.IntN(3) {
				w.user()
			}
		}
		process(map[string]any{"action": "write", "eof": true})
		for r = process(map[string]any{"action": "poll", "wait": 10}); r.OK && isRunning(r); {
			r = process(map[string]any{"action": "poll", "wait": 10})
		}
	} else {
		w.choose(threads)
		r = w.call(clitest.NewExecCall("echo | python3 " + mutatorName))
	}
	if !r.OK {
		w.T.Errorf("%v: %s\n%s", r.Error, r.Text, strings.Join(w.log, "\n"))
	}
	last.after, last.during = w.snapshot(), maps.Clone(last.touched)
	last.id, last.lost = r.Structured.Changes.Undo, strings.Join(r.Structured.NotCovered, "\n")
	for _, reason := range []string{"permission denied", "can't be read", "can't look"} {
		w.lossy = w.lossy || users || strings.Contains(last.lost, reason)
	}
	w.log = append(w.log, fmt.Sprintf("operation %q, not covered %q", last.id, last.lost))
	if diff := clitest.DiffSnapshots(withoutTimesOfDirs(step.before), withoutTimesOfDirs(w.snapshot())); !users && diff != "" && last.id == "" && last.lost == "" {
		w.T.Errorf("nothing was recorded of\n%s\n%s", diff, strings.Join(w.log, "\n"))
	}
}

func isRunning(r clitest.CallResult) bool {
	return r.Structured.Running != nil && *r.Structured.Running
}

// user makes a change of the user's.
func (w *undoWorld) user() {
	a, b := w.path(), w.path()
	at, to := filepath.Join(w.Workspace, a), filepath.Join(w.Workspace, b)
	from, errFrom := os.Lstat(at)
	target, errTo := os.Lstat(to)
	if a == b || errFrom == nil && errTo == nil && os.SameFile(from, target) || isOpenForWriting(at) {
		return
	}
	marks := map[string]bool{}
	mark := func(name string) { // all that is below it and all names of these files
		marks["/"+name] = true
		_ = filepath.WalkDir(filepath.Join(w.Workspace, name), func(path string, d fs.DirEntry, err error) error {
			marks[strings.TrimPrefix(path, w.Workspace)] = true
			info, statErr := os.Lstat(path)
			if err != nil || statErr != nil || !info.Mode().IsRegular() {
				return nil
			}
			_, all := w.paths()
			for _, other := range all {
				if i, err := os.Lstat(filepath.Join(w.Workspace, other)); err == nil && os.SameFile(i, info) {
					marks["/"+other] = true
				}
			}
			return nil
		})
	}
	mark(a)
	was := w.snapshot()
	name, put := "", func(flags int, text string) error {
		f, err := os.OpenFile(at, os.O_WRONLY|flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o644)
		if err == nil {
			_, err = f.WriteString(text)
			_ = f.Close()
		}
		return err
	}
	var err error
	text := fmt.Sprint("user", w.random.IntN(1000))
	switch w.random.IntN(10) {
	case 0, 1, 2:
		name, err = "write", put(os.O_CREATE|os.O_TRUNC, text)
	case 3:
		name, err = "append", put(os.O_APPEND, "u")
	case 4:
		name, err = "mkdir", os.Mkdir(at, 0o755)
	case 5:
		name, err = "remove", os.Remove(at)
	case 6:
		name, err = "remove all", os.RemoveAll(at)
	case 7:
		mark(b)
		name, err = "rename to "+strconv.Quote(b), os.Rename(at, to)
		mark(b)
	case 8:
		mark(b)
		name, err = "link to "+strconv.Quote(b), os.Link(at, to)
		mark(b)
	case 9:
		name, err = "symlink", os.Symlink(text, at)
	}
	if err != nil && name != "remove all" || name == "remove all" && errFrom != nil {
		return
	}
	w.log = append(w.log, fmt.Sprintf("user: %s %q", name, a))
	if strings.HasPrefix(name, "rename") {
		w.renames = append(w.renames, [2]string{"/" + a, "/" + b})
	}
	mark(a)
	if strings.HasPrefix(name, "link") { // it leaves the other names, unless they are of another file than the user left there
		maps.DeleteFunc(marks, func(path string, _ bool) bool { return path != "/"+b && len(w.users[path]) == 0 })
	}
	now := w.snapshot()
	for path := range maps.Clone(marks) {
		switch text := was[path]; {
		case strings.HasPrefix(name, "remove") && sameFile(text, now[path]): // they may not delete it, or it is another name of the file
			delete(marks, path)
		case text != "" && text != now[path]: // the file may have had another name: the agent moves directories
			for _, step := range w.steps {
				for other, line := range step.before {
					if modified(line) == modified(text) && (now[path] == "" || !strings.HasPrefix(line, "d")) {
						step.former[other] = true
					}
				}
			}
		}
	}
	for path := range marks {
		if _, err := os.Lstat(w.Workspace + path); err == nil && now[path] == "" {
			now[path] = unseen // they may not look at it
		}
		w.users[path] = append(w.users[path], now[path])
		for i := range w.steps {
			w.steps[i].touched[path] = true
		}
	}
}

// isOpenForWriting reports whether a program has a file open for writing: whose changes these are, nobody can tell.
func isOpenForWriting(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	return errors.Is(err, unix.EAGAIN)
}

// modified returns the time at the end of a description.
func modified(text string) string { return text[strings.LastIndex(text, " ")+1:] }

// snapshot describes the workspace without the mutator's files.
func (w *undoWorld) snapshot() map[string]string {
	all := w.SnapshotWorkspace()
	delete(all, "/"+mutatorName)
	delete(all, "/"+mutations)
	return all
}

// reset empties the workspace.
func (w *undoWorld) reset(seed uint64) {
	w.random, w.users, w.untimed, w.steps, w.log, w.lossy = rand.New(rand.NewPCG(seed, 11)), map[string][]string{}, map[string]bool{}, nil, nil, false
	w.settled, w.renames = map[string]bool{}, nil
	_ = filepath.WalkDir(w.Workspace, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o755)
		}
		return nil
	})
	entries, _ := os.ReadDir(w.Workspace)
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(w.Workspace, e.Name())); err != nil {
			w.T.Fatal(err)
		}
	}
	for name, text := range map[string]string{mutatorName: mutator, mutations: ""} {
		if err := os.WriteFile(filepath.Join(w.Workspace, name), []byte(text), 0o644); err != nil {
			w.T.Fatal(err)
		}
	}
}
