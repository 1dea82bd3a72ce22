mkdir native w
cd native
echo '{"name":"native","version":"1.0.0","main":"build/Release/n.node","gypfile":true}' > package.json
echo '{"targets":[{"target_name":"n","sources":["n.c"]}]}' > binding.gyp
cat > n.c <<'C'
#include <node_api.h>

static napi_value f(napi_env env, napi_callback_info info) {
	napi_value v;
	napi_create_string_utf8(env, "native", NAPI_AUTO_LENGTH, &v);
	return v;
}

NAPI_MODULE_INIT() {
	napi_value v;
	napi_create_function(env, "f", NAPI_AUTO_LENGTH, f, NULL, &v);
	return v;
}
C
npm pack --silent >/dev/null
cd ../w
echo '{"name":"w","private":true}' > package.json
export npm_config_nodedir=/usr
npm install --offline --no-audit --no-fund ../native/native-1.0.0.tgz >out 2>&1 || { cat out; exit 1; }
node -p 'require("native")()' | grep -qx native
