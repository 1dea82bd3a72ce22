# For each line of standard input, makes the changes that .mutate.json lists: a list of threads, each a list of
# [name, path, path, number]. Paths are in hexadecimal digits.
import ctypes, json, os, shutil, stat, sys, threading

libc = ctypes.CDLL(None, use_errno=True)
new = os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW
follow = 0  # O_NOFOLLOW with several threads: a symlink that another thread just made leads to a file that was not announced


def put(path, flags, text, at=0):
    f = os.open(path, flags, 0o644)
    try:
        os.lseek(f, at, 0) if at else None
        os.write(f, text)
    finally:
        os.close(f)


def replace(a, b, n):
    temp = a + b".tmp"
    put(temp, new | os.O_EXCL, b"r%d" % n)
    try:
        os.rename(temp, a)
    except OSError:
        os.unlink(temp)


def tmpfile(a, b, n):
    f = os.open(os.path.dirname(a) or b".", os.O_TMPFILE | os.O_RDWR, 0o644)
    try:
        os.write(f, b"t%d" % n)
        os.link("/proc/self/fd/%d" % f, a, follow_symlinks=True)
    finally:
        os.close(f)


def copy_range(a, b, n):
    s = os.open(a, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        d = os.open(b, new, 0o600)
        try:
            os.copy_file_range(s, d, 1 + n % 9)
        finally:
            os.close(d)
    finally:
        os.close(s)


def deep(a, b, n):
    os.mkdir(a)
    back = os.open(".", os.O_RDONLY)
    try:
        os.chdir(a)
        for _ in range(n % 24):
            os.mkdir("d" * 200)
            os.chdir("d" * 200)
        put(b"f", new, b"deep")
    finally:
        os.fchdir(back)
        os.close(back)


def relative(a, b, n):
    back = os.open(".", os.O_RDONLY)
    try:
        os.chdir(os.path.dirname(a) or b".")
        if n % 2:
            put(os.path.basename(a), new, b"rel%d" % n)
        else:
            os.unlink(os.path.basename(a))
    finally:
        os.fchdir(back)
        os.close(back)


def held(a, b, n):
    f = os.open(a, new, 0o644)
    try:
        os.write(f, b"held%d" % n)
        os.rename(a, b)
        os.write(f, b"late")
        os.ftruncate(f, n % 12)
    finally:
        os.close(f)


def chmod(a, b, n):
    kind = os.lstat(a).st_mode
    if not stat.S_ISLNK(kind):
        os.chmod(a, [0o755, 0o700, 0o300, 0o500, 0o100][n % 5] if stat.S_ISDIR(kind) else [0o600, 0o444, 0o755, 0o200][n % 4])


changes = {
    "write": lambda a, b, n: put(a, new | os.O_TRUNC, b"w%d" % n),
    "creat": lambda a, b, n: put(a, new | os.O_EXCL, b"c%d" % n),
    "append": lambda a, b, n: put(a, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | follow, b"+"),
    "overwrite": lambda a, b, n: put(a, os.O_RDWR | os.O_NONBLOCK | follow, b"o%d" % n, n % 3),
    "truncate": lambda a, b, n: follow or os.truncate(a, n % 7),
    "replace": replace,
    "rename": lambda a, b, n: os.rename(a, b),
    "noreplace": lambda a, b, n: libc.renameat2(-100, a, -100, b, 1),
    "exchange": lambda a, b, n: libc.renameat2(-100, a, -100, b, 2),
    "link": lambda a, b, n: os.link(a, b, follow_symlinks=False),
    "symlink": lambda a, b, n: os.symlink(b, a),
    "unlink": lambda a, b, n: os.unlink(a),
    "rmdir": lambda a, b, n: os.rmdir(a),
    "rmtree": lambda a, b, n: stat.S_ISDIR(os.lstat(a).st_mode) and shutil.rmtree(a),  # it would open a FIFO
    "mkdir": lambda a, b, n: os.mkdir(a),
    "mkfifo": lambda a, b, n: os.mkfifo(a),
    "chmod": chmod,
    "utime": lambda a, b, n: os.utime(a, ns=(n, n * 10**9 + n), follow_symlinks=False),
    "setxattr": lambda a, b, n: os.setxattr(a, "user.k", b"%d" % n, follow_symlinks=False),
    "removexattr": lambda a, b, n: os.removexattr(a, "user.k", follow_symlinks=False),
    "tmpfile": tmpfile,
    "copy_range": copy_range,
    "deep": deep,
    "relative": relative,
    "held": held,
}


changes["last"] = lambda a, b, n: os.rmdir(".mutate.none")  # fails; a call shows what became of the one before it


def run(thread):
    for name, a, b, n in thread + [["last", "", "", 0]]:
        try:
            changes[name](bytes.fromhex(a), bytes.fromhex(b), n)
        except OSError:
            pass


for _ in sys.stdin:
    with open(".mutate.json") as f:
        threads = [threading.Thread(target=run, args=(t,)) for t in json.load(f)]
    follow = 0 if len(threads) == 1 else os.O_NOFOLLOW
    if len(threads) == 1:
        threads[0].run()
    else:
        [t.start() for t in threads]
        [t.join() for t in threads]
    print("done", flush=True)
