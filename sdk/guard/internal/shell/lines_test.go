package shell_test

// harmless are lines that call the function args with arguments that the shell makes in some way. The shells that run
// them must give args what was predicted.
var harmless = []string{
	`v=r\m; args "$v"`, `v='x'\''y'\"z; args "$v" $v`, `v=~/a\ b:~/c\$d; args "$v"`, `v=\~/x; args "$v" $v`, "v=a\\\nb; args $v",
	`case r\m in rm) args yes;; *) args no;; esac`, `v=a\*b; args "$v"`, `v=\\n; args "$v"`, `v=é\é; args "$v"`,
	`args a 'b c' "d  e" f\ g`, `args "" '' a""b`, `args "a'b" 'a"b'`, `args a\b "a\b" 'a\b' "a\\b" "a\"b" a\\b`,
	`args a#b '#' \# # comment`, `args a;args b`, "args a\nargs b", "args a \\\n  b", `args --x=y -z=~ ~`, `args ~/x "~/x" '~'/x \~/x`,
	`x=1; args $x "$x" '$x' "${x}2" $x$x`, `x="a b"; args $x "$x"`, `x=; args a$x $x "$x" b`, `x="a  b "; args $x. .$x`,
	`x=abc; args ${#x} ${x%c} ${x#a} ${x%%b*} ${x##*b}`, `x=a/b/c.tar.gz; args ${x##*/} ${x%.*} ${x%%.*} ${x%/*}`,
	`args ${u:-d} ${u-d} "${u:-d e}" ${u:-"d e"} ${u:+n}`, `x=v; args ${x:-d} ${x:+n} ${x:+"n m"}`, `args ${u:=set} $u`,
	`x='*'; args "$x" '*' \*`, `x=1; y=x; args $y`, `x='a;b'; args $x "$x"`, `x='$y'; y=1; args $x "$x"`,
	`args $(echo a b) "$(echo a b)"`, "args `echo a b`", `args "$(printf 'a\nb\n\n')"`, `args $(echo "a  b")`, `args a$(echo b)c`,
	`args $(echo $(echo nested))`, `x=$(echo v); args $x`, `args "$(echo "$(echo 'q  r')")"`, `args "$(echo a; echo b)"`,
	`args $((1+2)) $((3*(4-1))) $((7/2)) $((7%4)) $((1<<4)) $((0x10)) $((5>3))`, `x=4; args $((x*2)) $(($x+1))`, `x=1; args $((x+=2)) $x`,
	`set -- a 'b c'; args "$@"; args $@; args "$*"; args $#`, `set -- a b c; shift; args "$@" $1`, `f() { args "$1" "$@" $#; }; f x 'y z'`,
	`f() { x=in; }; x=out; f; args $x`, `f() { local x=in; args $x; }; x=out; f; args $x`, `x=1 true; args ${x-unset}`, `x=a; x=${x}b; x=${x}c; args $x`,
	`for i in a 'b c' d; do args "$i" $i; done`, `for i; do args $i; done`, `set -- p q; for i do args $i; done`, `for i in 1 2; do for j in a b; do args $i$j; done; done`,
	`if true; then args yes; fi`, `if false; then args no; else args yes; fi`, `true && args a || args b`, `false && args a; args b`, `true || args a; args b`, `! false && args a`,
	`case abc in a*) args first;; *) args other;; esac`, `x=b; case $x in a) args a;; b|c) args bc;; esac`,
	`(x=sub; args $x); args ${x-none}`, `{ args a; args b; }`, `cd sub; args "$PWD"; cd ..; args "${PWD##*/}" | cat`, `cd sub && args $(pwd)`, `(cd sub; args "$PWD"); args "$PWD"`,
	`eval args a "'b c'"`, `eval 'x=1; args $x'`, `x='args a b'; eval "$x"`, `x='args a b'; $x`, `c=args; $c a`, `c=ar; ${c}gs a`, `c=args; "$c" 'a b'`,
	"args <<E\nbody\nE", "x=1; args \"$(cat <<E\na $x b\nE\n)\"", "x=1; args \"$(cat <<'E'\na $x b\nE\n)\"", "args \"$(cat <<-E\n\ttabs\n\tE\n)\"",
	"x=1; args \"$(cat <<'E'\na\\$x b \\\\ \\`c \\\nd\nE\n)\"", "x=1; args \"$(cat <<\\E\n\\$x $x\nE\n)\"", "x=1; args \"$(cat <<\"E\"F\n\\$x $x\nEF\n)\"", "x=1; args \"$(cat <<-'E'\n\t\\$x\n\tE\n)\"", "x=1; args \"$(cat <<E\n\\$x \\\\ $x \\\nb\nE\n)\"",
	`echo a b | while read x y; do args "$x" "$y"; done`, `echo 'a b c' | { read x y; args "$x" "$y"; }`, `printf 'a\nb\n' | while read x; do args "$x"; done`,
	`IFS=:; x=a:b:c; args $x "$x"`, `IFS=:; set -- a b; args "$*"`, `IFS=; x='a b'; args $x`, `x=a,b; IFS=,; set -- $x; IFS=' '; args "$1" "$2"`,
	`printf '%s\n' x > out; args "$(cat out)"`, `echo a > out; echo b >> out; args "$(cat out)"`, `args $(basename /a/b.c .c) $(dirname /a/b.c)`,
	`args "$(printf '%d-%s' 5 x)" "$(printf '%s,' a b c)"`, `args "$(printf '\101\t|')"`, `args "$(printf 'a\nb')" | cat`,
	`unset x; args ${x-gone}`, `readonly r=1; args $r`, `export e='a b'; args "$e"`, `trap 'args bye' EXIT; args hi`, `while true; do args once; break; done`, `x=3; while [ $x -gt 0 ]; do x=$((x-1)); args $x; done`,
	`until true; do args never; done; args after`, `f() { return; args never; }; f; args after`, `alias a=b; args a`, `command args a`, `args a & wait`, `args a 2>/dev/null`, `args >out a; args b`, `x=$(args inner); args outer`,
	`sh -c 'echo x' >/dev/null; args z`, `args "a${x:-b "c d"}e"`, `args "${x:-'q'}"`, `args ${x:-'q r'}`, `args "\$x" '\$x' "\a"`, `args -- -a --`, `args {a} a{ }b {a,b`,
}

// bashOnly are such lines of bash alone.
var bashOnly = []string{
	`declare v=r\m; args "$v"`, `export v=r\m; args "$v"`, `a=(r\m 'x'\''y'); args "${a[@]}"`, `a[0]=r\m; args "${a[0]}"`, `v=r; v+=\m; args $v`, `read v <<< r\m; args "$v"`, `read -r v <<< 'r\m'; args "$v"`,
	`args ${u:-r\m} "${u:-r\m}"`, `v=${u:-r\m}; args "$v"`, `v="${u:-r\m}"; args "$v"`, `v=${u:-'r'\''m'}; args "$v"`, `[[ r\m == rm ]] && args yes`, `v=rm; [[ $v == r\m ]] && args yes`, `f() { local v=r\m; args $v; }; f`, `declare -a a=(r\m); args "${a[0]}"`, `declare -A h=([k\k]=r\m); args "${h[kk]}"`, `v=$'r'\m; args $v`, `v=${u:=r\m}; args $u $v`, `v=arm; args ${v#\a} ${v/\a/b} ${v/a/\b}`, `v=x; args ${v/x/r\m} "${v/x/r\m}" ${v/x/r\\m} "${v/x/r\\m}" ${v/x/'a'\''} "${v//x/'a'b}"`, `v=a\ b; set -- $v; args "$1"`, `v=-\e; args $v`, `printf -v v %s r\m; args $v`, `v=( a\ b ); args "${v[0]}"`, `for v in r\m; do args $v; done`, `eval v=r\\m; args $v`, `v=$(echo r\m); args $v`, `trap "v=r\m; args \$v" EXIT`, `readonly v=r\m; args $v`, `v=r\m w=\x; args $v $w`, `v=r\m args2; args ok`, `case rm in r\m) args yes;; esac`, `case 'r\m' in r\\m) args yes;; esac`, `v='a\b'; case 'a\b' in "$v") args yes;; esac`, `v=x; args "${v:+r\m}" ${v:+r\m}`, `cat <<< r\m > out; args $(cat out)`, `v="r\m"; args $v`, `w=o\ut; echo k > $w; args $(cat out)`,
	`args {,a} {,a,b}x {,} ""{,} {"",a} {,{,b}}c`, `{,args,a,b}`, `{,,args} x`, `x=; args {$x,a} {"$x",b}`, `args {a,\{b,c} {{,x}a,b} x{,}y`,
	`a=([3]=x); args "${a[3]}" "${a[@]}" ${#a[@]} "${a[0]-none}"`, `a[3]=x; args ${a[3]} ${a[4]-none}`, `a=([5]=x [2]=y z); args "${a[@]}" ${a[3]} "${!a[@]}"`, `a=(p q); a[1]=r; a[4]=s; args "${a[@]}" ${a[-1]} "${!a[@]}"`,
	`i=3; a=([$i]=x [i+1]=y); args ${a[i]} ${a[$i+1]} "${a[@]: -1}"`, `a=(p); a+=([3]=q); a[3]+=r; a+=s; args "${a[@]}" "$a"`, `a=x; a[1]=y; args "${a[@]}"`, `a=(p q); b=("${a[@]}" r); args ${b[2]}`,
	`declare -A m=([k]=v); args "${m[k]}" "${m[@]}" "${!m[@]}" ${#m[@]}`, `declare -A m=([a]=p [b]=q); m[a]+=r; args "${m[a]}" "${m[b]}"`,
	`declare -A m=([x]=1); for k in "${!m[@]}"; do args "$k" "${m[$k]}"; done`, `a=(p q); for i in "${!a[@]}"; do args "$i" "${a[$i]}"; done`,
	`[[ abc =~ a(.*) ]]; args "${BASH_REMATCH[1]}" "$BASH_REMATCH"`, `[[ a.c =~ ^'a.'(.)$ ]] && args "${BASH_REMATCH[@]}"`, `re='([0-9]+)-(.*)'; [[ 12-x =~ $re ]] && args ${BASH_REMATCH[2]} ${BASH_REMATCH[1]}`,
	`read -r -d '' c <<< $'a\nb  '; args "$c"`, `IFS=, read a b <<< x,y,z; args "$a" "$b"`,
	`read a b <<< '  x   y   z  '; args "$a" "$b"`, `IFS= read -r a <<< '  x '; args "$a"`, `read -n 9 c <<< abc; args $c`, `mapfile -t -d x a <<< pxq; args "${a[0]}"`,
	`continue; args on`, `break 2>/dev/null; args on`, `return 2>/dev/null; args on`, `x=a; for i in 1; do x=b; break; done; args $x`, `x=a; while true; do x=b; break; done; args $x`, `x=a; f() { return; x=b; }; f; args $x`,
	`x=a; f() { x=b; } && args $x`, `args() { :; } | cat; args $(echo x)`, `x=a; x=b bash -c 'args $x'`, `x=a; bash -c 'args "${x-none}"'`, `export x=a; bash -c 'args "$x"'`, `alias args=echo; args a`,
	`args a & x=$!; wait $x; set -- a b c; shift 2; args "$@"`, `declare -n r=x; x=a; args $r; r=b; args $x`,
	`echo 'args a' > s; echo 'args b' > t; cp -n t s; . ./s`, `echo 'args a' > s; ln -s s t; echo 'args b' > t; . ./s`, `shopt -s extglob; x=raaam; args ${x/+(a)}`,
	`a=(1 2); args $((a[1]+1))`, `declare -A m=([k]=5); args $((m[k]*2))`, `sleep 0 & p=$!; trap "args bye" EXIT; args "x" ; wait $p`, `f() { a=("$@"); args "${a[1]}"; }; f x y`,
	`args {a,b}{1,2} {1..3} {a..c} x{,y} {a,{b,c}}`, `args $'a\tb' $'\x41\102\u0043' $'it\'s'`, `args $"a b"`, `x=(a 'b c' d); args "${x[@]}" ${x[1]} ${#x[@]} "${x[*]}"`,
	`x=(a b); x+=(c); args "${x[@]}"; args "${x[@]:1:2}" "${x[@]:1}"`, `x=abcdef; args ${x:2} ${x:1:3} ${x: -2} ${x:0:-1}`, `x=aXbX; args ${x/X/-} ${x//X/-} ${x/#a/-} ${x/%X/-} ${x//X}`,
	`x=abc; args ${x^} ${x^^} ${x,,}`, `x=ABC; args ${x,} ${x,,}`, `n=x; x=v; args ${!n}`, `args <<< word`, `read -r a b <<< 'p q r'; args "$a" "$b"`, `printf -v x '%s-%s' a b; args $x`,
	`declare x='a b'; args "$x"`, `declare -a x=(a b); args "${x[@]}"`, `mapfile -t x <<< $'a b\nc'; args "${x[@]}"`, `IFS=, read -ra x <<< a,b,c; args "${x[@]}"`, `[[ a == a* ]] && args yes`,
	`for ((i=0;i<2;i++)); do args $i; done`, `((x=5)); args $x`, `let x=2+3; args $x`, `x=1; x+=2; args $x`, `function f { args "$@"; }; f a b`, `args "${@:1}" x`, `set -- a b c; args "${@:2}" "${*:1:2}"`,
	`args "$(< in)"`, `args a |& cat`, `args ${x@Q} y`, `shopt -s extglob; args a`, `time args a`, `x=$'a\nb'; args $x "$x"`, `source <(echo 'args from source')`, `. /dev/stdin <<< 'args piped'`, `bash -c 'args "$0" "$1"' p q`,
	`x='a b'; y=("$x" c); args "${y[@]}"`, `for x in "${u[@]}"; do args never; done; args after`, `x="${x:-a b}"; args $x`, `pushd sub >/dev/null; args "$PWD"; popd >/dev/null; args "$PWD"`,
}

// doubtful are lines of bash with arguments that are not followed: they must count as unknown.
var doubtful = []string{
	`printf -v 'a[1]' x; args ${a[1]}`, `read 'a[1]' <<< x; args "${a[1]}"`, `declare 'a[2]=x'; args "${a[2]}"`, `declare -A m=([a]=p [b]=q); args "${m[@]}"`,
	`declare -A m; m[a-b]=x; k=a-b; args "${m[$k]}" "${m[none]-d}"`, `[[ abc =~ \.x ]]; args "${BASH_REMATCH[0]-none}"`, `read -n2 c <<< abc; args $c`, `read -N2 c <<< abc; args $c`, `read -d b c <<< abc; args $c`,
	`read -a c -n 2 <<< 'x y'; args "${c[@]}"`, `read c d <<< 'a\b c\ d'; args "$c" "$d"`, `mapfile -O 3 -t a <<< x; args ${a[3]}`, `mapfile -s 1 -t a <<< $'x\ny'; args ${a[0]}`, `mapfile -n 1 -t a <<< $'x\ny'; args "${a[@]}"`,
}
