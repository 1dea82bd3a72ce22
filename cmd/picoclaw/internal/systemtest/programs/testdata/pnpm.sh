pnpm() { node "$tools/pnpm/bin/pnpm.cjs" "$@"; }
tools=$PWD/tools
mkdir -p local w/p/a w/p/b
echo '{"name":"local","version":"1.0.0","bin":"l.js"}' > local/package.json
printf '#!/usr/bin/env node\nconsole.log("local")\n' > local/l.js
(cd local; pnpm pack >/dev/null)
cd w
cat > package.json <<'J'
{"name":"w","private":true,"dependencies":{"local":"file:../local/local-1.0.0.tgz"},"scripts":{"postinstall":"echo ran > ran"}}
J
echo 'packages: ["p/*"]' > pnpm-workspace.yaml
echo '{"name":"a","version":"1.0.0","main":"a.js"}' > p/a/package.json
echo 'module.exports = "from a"' > p/a/a.js
cat > p/b/package.json <<'J'
{"name":"b","version":"1.0.0","dependencies":{"a":"workspace:*"},"scripts":{"start":"node -p 'require(\"a\")'"}}
J
pnpm install --offline >out || { cat out; exit 1; }
test -e ran
pnpm exec local | grep -qx local
pnpm -r run start | grep -q 'from a'
