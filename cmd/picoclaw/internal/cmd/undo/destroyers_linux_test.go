package undo_test

// repository is a repository with nested ones, and much that no version control has.
const repository = `
git init -q . ; git config gc.auto 0
mkdir -p src/deep/deeper build/obj node_modules/a/node_modules/b 'with space' docs
for i in $(seq 40); do echo "file $i" > src/f$i.txt; seq $i > src/deep/g$i; done
seq 5000 > build/big.o; head -c 300000 /dev/urandom > build/random.bin; : > build/empty
printf 'build/\nnode_modules/\n' > .gitignore
git add -A; git commit -qm one; git branch side; echo more >> src/f1.txt; git commit -qam two
ln src/f1.txt build/hard1; ln src/f1.txt build/hard2; ln -s ../src build/link; ln -s nowhere dangling
mkfifo build/pipe; chmod 755 src/f2.txt; chmod 640 src/f3.txt; chmod 700 src/deep/deeper
echo secret > .env; echo x > 'with space/a b'; echo ünï > docs/ünï; printf 'a\nb' > "docs/new
line"
for n in nested nested/inner; do mkdir -p $n; (cd $n; git init -q .; git config gc.auto 0; seq 30 > h; git add h; git commit -qm n); done
echo dirty >> nested/h; echo untracked > nested/u; git -C nested stash list
touch -d '2001-02-03 04:05:06.789' src/f4.txt build; touch -d '2002-02-02' src/deep; touch -hd '2003-03-03' dangling
mkdir odd odd/closed odd/$'not \xff\xfe utf8'; echo q > odd/$'\xffq'; echo w > odd/$'not \xff\xfe utf8'/w; ln -s $'to\xff' odd/link
python3 - <<'E'
import os
os.setxattr('odd/closed', 'user.kind', b'closed'); os.setxattr('src/f6.txt', 'user.raw', b'\xff\x00\xfe')
os.setxattr('odd', 'user.kind', b'odd')
E
echo c > odd/closed/c; chmod 1777 odd/closed; ln odd/closed/c odd/c2; mkdir -p two/x; echo t > two/x/t; chmod 500 two/x
`

// destroyers are commands of all kinds that destroy a repository.
var destroyers = []string{
	"rm -rf * .git .env", "rm -rf build node_modules", "git clean -fdxq; git reset -q --hard side", "find . -type f -delete",
	"find . -name '*.txt' -exec sed -i s/file/FILE/ {} +", "mv src gone; mv gone/deep elsewhere; rm -rf gone",
	"for f in src/*.txt; do mv $f $f.bak; done; rm src/f1.txt.bak", "truncate -s 0 src/*.txt; chmod 000 src/f5.txt",
	"python3 -c \"import shutil; shutil.rmtree('nested')\"; mkdir nested; echo other > nested/h",
	"perl -e 'unlink glob(\"src/deep/*\"); rename \"docs\", \"papers\"; open F, \">\", \"src\"; '; rm -rf src; echo a file now > src",
	"cp -r src src2; rm -rf src; mv src2 src", "tar cf all.tar . 2>/dev/null; rm -rf src; tar xf all.tar; rm all.tar",
	"git checkout -q side; git branch -D master main; git stash -q; rm -rf .git/refs", "mv .git .git2; git init -q .; rm -rf .git2",
	"echo x > build/hard1; rm src/f1.txt; ln build/hard2 again", "ln -sfn docs build/link; rm dangling; touch nowhere",
	"chmod -R a-w src; chmod 777 . src; touch -d yesterday src/* build", "rm build/pipe; mkfifo build/pipe2; rm -rf 'with space'",
	"mv src a; mv build src; mv a build", "mv nested/inner inner; rm -rf nested; mv inner nested",
	"dd if=/dev/zero of=build/random.bin bs=1000 count=3 conv=notrunc 2>/dev/null; seq 9 >> build/big.o",
	"rsync -a --delete docs/ src/ 2>/dev/null || cp docs/* src; rm -rf docs", "sed -i d src/f*.txt; rm -f src/f1*; git add -A; git rm -rqf .",
	"(sleep 0.2; rm -rf src) & rm -rf build; wait", "printf '%s\\n' src/f* | xargs rm; mkdir src/f1.txt; echo in > src/f1.txt/in",
	"python3 - <<'E'\nimport os\nfor d, _, fs in os.walk('src'):\n  for f in fs:\n    p = os.path.join(d, f)\n    if f[0] != 'h': os.replace(p, p + '~')\nE\n",
	"rm -rf src/deep; ln -s ../docs src/deep; echo through > src/deep/ünï", "git -C nested checkout -q -- .; git -C nested clean -fdxq",
	"mv odd oo; mkdir odd; mv oo odd/; mv odd x; mv two odd; mv x two", "mv two a; mkdir two; mv a/x two/y; touch two/y/../n",
	"rm odd/closed/c; mkdir odd/closed/c; touch odd/closed/c/x; rm -r odd/closed; echo f > odd/closed; echo more >> odd/c2",
	"rm -rf odd; mkdir -p odd/closed; mv two/x odd/closed/x; rm -rf two", "chmod 0 two/x odd/closed; mv two odd/closed || mv two t",
	"python3 -c \"import os; os.removexattr('odd', 'user.kind'); os.setxattr('src', 'user.new', b'1'); os.setxattr('src/f6.txt', 'user.raw', b'x')\"",
	"rm -r odd/closed; mkdir odd/closed; python3 -c \"import os; os.setxattr('odd/closed', 'user.kind', b'other')\"",
	"for d in *; do mv \"$d\" a$$; mkdir \"$d\"; mv a$$ \"$d/$d\"; done", "rm src/f1.txt; ln src/f2.txt src/f1.txt; echo both >> src/f1.txt",
	"mv src/f1.txt src/t; mv src/f2.txt src/f1.txt; mv src/t src/f2.txt; rm src/f1.txt; echo new > src/f1.txt", "rm -rf src; mv build src; mkdir build; mv src/obj build",
	"for i in 1 2 3; do mv src s$i; mkdir src; mv s$i/* src/; rmdir s$i; done", "touch -h build/link dangling; ln -sfn x odd/link; mv odd/link src",
	"rm -rf src/deep; chmod 000 src two/x", "chmod 000 docs; rm build/hard1; echo changed > build/hard2; rm src/f1.txt; cp build/hard2 src/f1.txt",
	"mkdir n; echo x > n/f; mkdir n/d; mv odd n/d/; mv src/f2.txt n/; chmod 0 n", "mkdir n; cp -r docs n/d; mv n/d m; mv m n/; chmod 0 n/d n",
	"mkdir new; mv * new 2>/dev/null; mv new/src/f1.txt .; rm -rf new/build", "cd src; rm f*; cd deep; mv g1 ../../; rm -rf ../deep",
}

// storms are commands whose threads rename the same paths over each other at once, and what they rename. Of that some
// may be missed (docs/shell.md), and of nothing else.
var storms = []struct{ command, names string }{
	{"for k in 1 2 3; do (for i in $(seq 2 30); do mv src/f$i.txt s$k-$i; mv s$k-$i src/f$((i+1)).txt; done) 2>/dev/null & done; wait",
		`^/(src/f\d+\.txt|s\d+-\d+)$`},
	{"python3 - <<'E'\nimport os, threading\ndef storm(k):\n  for i in range(100):\n    for a, b in (('src/f2.txt', f'x{k}'), (f'x{k}', 'src/f3.txt'), ('docs', f'y{k}'), (f'y{k}', 'docs'), ('src/f3.txt', 'src/f2.txt')):\n" +
		"      try: os.rename(a, b)\n      except OSError: pass\nts = [threading.Thread(target=storm, args=(k,)) for k in range(4)]\n[t.start() for t in ts]\n[t.join() for t in ts]\nos.rename('docs', 'end')\nE\n",
		`^/(src/f[23]\.txt|docs|x\d|y\d|end)(/|$)`},
}
