yarn() { node "$tools/yarn/bin/yarn.js" "$@"; }
tools=$PWD/tools
mkdir -p local w/p/a w/p/b
echo '{"name":"local","version":"1.0.0","bin":"l.js"}' > local/package.json
printf '#!/usr/bin/env node\nconsole.log("local")\n' > local/l.js
cd w
cat > package.json <<'J'
{"name":"w","private":true,"workspaces":["p/*"],"dependencies":{"local":"file:../local"},"scripts":{"postinstall":"echo ran > ran"}}
J
echo '{"name":"a","version":"1.0.0","main":"a.js"}' > p/a/package.json
echo 'module.exports = "from a"' > p/a/a.js
cat > p/b/package.json <<'J'
{"name":"b","version":"1.0.0","dependencies":{"a":"1.0.0"},"scripts":{"start":"node -p 'require(\"a\")'"}}
J
yarn install --offline >out 2>&1 || { cat out; exit 1; }
test -e ran
yarn -s local | grep -qx local
yarn -s workspace b start | grep -q 'from a'
