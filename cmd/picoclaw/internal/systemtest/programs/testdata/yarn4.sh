yarn() { node "$tools/@yarnpkg/cli-dist/bin/yarn.js" "$@"; }
tools=$PWD/tools
export YARN_ENABLE_NETWORK=0
mkdir -p local w/p/a w/p/b
echo '{"name":"local","version":"1.0.0","bin":"l.js"}' > local/package.json
printf '#!/usr/bin/env node\nconsole.log("local")\n' > local/l.js
cd w
cat > package.json <<'J'
{"name":"w","private":true,"workspaces":["p/*"],"dependencies":{"local":"file:../local"},"scripts":{"postinstall":"echo ran > ran"}}
J
touch yarn.lock
echo '{"name":"a","version":"1.0.0","main":"a.js"}' > p/a/package.json
echo 'module.exports = "from a"' > p/a/a.js
cat > p/b/package.json <<'J'
{"name":"b","version":"1.0.0","dependencies":{"a":"workspace:*"},"scripts":{"start":"node -p 'require(\"a\")'"}}
J
for linker in pnp node-modules; do
  rm -f ran
  export YARN_NODE_LINKER=$linker
  yarn install --no-immutable >out 2>&1 || { cat out; exit 1; }
  test -e ran
  yarn local | grep -qx local
  yarn workspace b start | grep -q 'from a'
done
