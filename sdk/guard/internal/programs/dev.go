package programs

// devPrograms build, test and package.
var devPrograms = []program{
	{names: "make gmake bmake", args: "s*", lang: "make", opts: "C=g f=r I=l j= l= o=d W=d E=c --directory=g --file=r --makefile=r --include-dir=l --eval=c --old-file=d --what-if=d --jobs=d"},
	{names: "cmake", args: "s*", opts: "S=l B=w G=d C=r P=k E=d T=d A=d t=d j=d --build=g --target=d --preset=d --install=g --config=d --prefix=w --toolchain=r --parallel=d"},
	{names: "ninja meson bazel buck scons just task mage rake invoke gradle gradlew mvn mvnw ant sbt lein mix", args: "s*",
		opts: "C=g f=r d=g t=d j=d p=g b=r P=s x=d Dtest=d --tests=d --test_filter=d --file=r --directory=g --justfile=r --working-directory=g"},
	{names: "go", args: "d s*", style: "single", opts: "-C=g -o=w -run=d -bench=d -skip=d -fuzz=d -tags=d -ldflags=d -gcflags=d -asmflags=d -f=d -count=d -timeout=d " +
		"-benchtime=d -fuzztime=d -coverprofile=w -cpuprofile=w -memprofile=w -mutexprofile=w -blockprofile=w -trace=w -outputdir=w -exec=c -toolexec=c -modfile=w " +
		"-overlay=r -p=d -parallel=d -cpu=d -covermode=d -coverpkg=d -mod=d -u=d -w=d -vettool=s -pkgdir=w -n=d -shuffle=d -json=d -x= -v= -race= -short= -a= -failfast="},
	{names: "gofmt goimports gofumpt", args: "w*", style: "single", opts: "-r=d -local=d -cpuprofile=w -srcdir=r"},
	{names: "golangci-lint staticcheck", args: "d s*", opts: "c=r E=d D=d e=d p=d --config=r --enable=d --disable=d --out-format=d --path-prefix=d --exclude=d"},
	{names: "cargo", args: "d s*", opts: "s=c --shell=c p=d F=d j=d Z=d --package=d --features=d --bin=d --example=d --test=d --bench=d --target=d --manifest-path=r --target-dir=w --root=w --path=r " +
		"--message-format=d --git=d --branch=d --tag=d --rev=d --version=d --jobs=d --config=s --profile=d --color=d --out-dir=w"},
	{names: "rustc gcc g++ cc c++ clang clang++ tcc", args: "s*", opts: "-include=r -isystem=l -MF=w -MT=d -MQ=d -Xlinker=d -framework=d -iquote=l o=w D=d U=d std=d L=l I=l l=d x=d W=s f=s m=d O=d g= c= E= S= --sysroot=l --target=d " +
		"--edition=d --crate-type=d --crate-name=d --cfg=d --out-dir=w"},
	{names: "npm pnpm yarn bun", args: "d s*", opts: "C=g w=d --global= --prefix=w --cwd=g --dir=g --workspace=d --filter=d --location=d --registry=d --tag=d --otp=d --loglevel=d --userconfig=r " +
		"--globalconfig=r --cache=w --script-shell=c --call=c c=d --config=r"},
	{names: "pip pip3 uv pipx conda mamba", args: "d s*", opts: "r=r c=r e=s t=w d=w i=d f=s --requirement=r --constraint=r --editable=s --target=w --prefix=w --root=w --dest=w --index-url=d " +
		"--extra-index-url=d --find-links=s --python=s --python-version=d --platform=d --cache-dir=w --log=w --report=w --output-file=w --format=d"},
	{names: "pytest py.test tox nox", args: "s*", opts: "k=d m=d n=d e=d c=r p=d o=d W=d r=d --rootdir=g --junitxml=w --junit-xml=w --basetemp=w --cov=d --cov-report=d --maxfail=d --deselect=d --ignore=d --tb=d --durations=d"},
	{names: "black isort ruff flake8 pylint mypy pyright bandit autopep8 yapf", args: "s*", opts: "l=d t=d c=s W=d k=d --line-length=d --config=s --select=d --ignore=d --exclude=d --extend-exclude=d --per-file-ignores=d --rcfile=r --cache-dir=w --output-file=w --format=d --target-version=d"},
	{names: "eslint prettier stylelint tsc jest vitest mocha ava cypress webpack vite rollup esbuild parcel babel swc", args: "s*",
		opts: "t=d k=d g=d c=r p=s o=w r=s e=c --testNamePattern=d --testPathPattern=d --grep=d --config=s --project=s --outDir=w --outfile=w --outdir=w --rule=d --ext=d --ignore-pattern=d --rulesdir=l --cache-location=w --base=d --public-path=d"},
	{names: "docker-compose", args: "d s*", opts: "f=r p=d --file=r --project-name=d --project-directory=g --env-file=r --profile=d"},
	{names: "terraform tofu ansible ansible-playbook packer vagrant", args: "s*", style: "", opts: "i=r e=s m=d a=d l=d t=d -chdir=g --inventory=r --extra-vars=s --tags=d --limit=d"},
	{names: "java", args: "s*", style: "single", opts: "-cp=s -classpath=s -jar=r --module-path=s -m=d"},
	{names: "javac jar kotlinc scalac", args: "s*", opts: "d=w cp=s --release=d C=g f=w"},
	{names: "ffmpeg", args: "w*", style: "single", opts: "-i=r -f=d -c=d -vf=d -af=d -filter_complex=d -ss=d -t=d -to=d -r=d -s=d -b=d -crf=d -preset=d -map=d -metadata=d -c:v=d -c:a=d -b:v=d -b:a=d -vframes=d -q:v=d -loglevel=d"},
	{names: "convert magick identify mogrify pandoc dot plantuml", args: "s*", opts: "o=w f=d t=d T=d c=s V=d M=d --output=w --from=d --to=d --template=r --css=s --metadata=d --filter=k --lua-filter=k --include-in-header=r --resource-path=l"},
	{names: "systemctl journalctl loginctl timedatectl hostnamectl service launchctl sc", args: "d*", opts: "u=d n=d o=d p=d t=d S=d U=d D=l H=d M=d s=d --unit=d --lines=d --output=d --since=d --until=d --directory=l --file=r --root=l --host=d --machine=d --property=d --signal=d --type=d --state=d"},
	{names: "apt apt-get aptitude apt-cache yum dnf microdnf zypper apk pacman yay paru brew snap flatpak rpm dpkg port choco winget scoop emerge xbps-install nix-env pkg gem opkg", args: "s*",
		opts: "o=d c=r t=d q= y= --option=d --config-file=r --root=w --installroot=w --target-release=d --releasever=d --enablerepo=d --disablerepo=d --setopt=d"},
}
