// Works with picoclaw as an agent's client does, by the official TypeScript SDK, and fails where an answer is not what such
// a client needs. The surroundings come as one JSON argument: program, workspace, env, and for HTTP url and token.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";

const { program, workspace, env, url, token } = JSON.parse(process.argv.at(-1));

function transport(secret = token) {
  if (!url) return new StdioClientTransport({ command: program, args: ["mcp"], env, stderr: "inherit" });
  return new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { Authorization: `Bearer ${secret}` } },
  });
}

async function eventually(what, so) {
  for (const end = Date.now() + 30_000; Date.now() < end; ) {
    if (await so()) return;
    await new Promise((done) => setTimeout(done, 20));
  }
  assert.fail(`in 30 seconds not: ${what}`);
}

const client = new Client(
  { name: "test", version: "1" },
  { capabilities: { elicitation: {}, roots: { listChanged: true } } },
);
let roots = [];
client.setRequestHandler(ListRootsRequestSchema, async () => ({ roots: roots.map((dir) => ({ uri: pathToFileURL(dir).href })) }));
const asked = [];
client.setRequestHandler(ElicitRequestSchema, async (request) => {
  asked.push(request.params.message);
  return { action: "accept", content: { allow: true } };
});
let listChanges = 0;
client.setNotificationHandler(ToolListChangedNotificationSchema, () => void listChanges++);

const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
const text = (result) => result.content.map((block) => block.text).join("\n");
async function works(name, args) {
  const result = await call(name, args);
  assert.ok(!result.isError, `${name}: ${text(result)}`);
  return result;
}
async function refused(name, args, ...words) {
  const result = await call(name, args);
  assert.equal(result.isError, true, `${name} was not refused: ${text(result)}`);
  for (const word of words) assert.ok(text(result).includes(word), `the refusal does not say ${word}: ${text(result)}`);
}

const steps = {
  async "a stranger is not let in"() {
    if (!url) return;
    const stranger = new Client({ name: "stranger", version: "1" });
    await assert.rejects(stranger.connect(transport("x".repeat(52))), /401|Unauthorized|bearer token/i);
  },
  async "the model is told where it is"() {
    await client.connect(transport());
    for (const word of [workspace, "60s", "operator"])
      assert.ok(client.getInstructions().replace("1m0s", "60s").includes(word), `the instructions do not say ${word}: ${client.getInstructions()}`);
  },
  async "tools are described"() {
    // From here on the client holds structured results to the schemas that it has read.
    const { tools } = await client.listTools();
    const of = Object.fromEntries(tools.map((tool) => [tool.name, tool]));
    assert.equal(of.read_file.annotations.readOnlyHint, true);
    assert.equal(of.rm.annotations.destructiveHint, true);
    assert.ok(of.file_stat.outputSchema);
    assert.ok(!JSON.stringify(tools).includes("x-picoclaw"), "what is between plugin and host is shown");
  },
  async "a text comes once"() {
    const content = 'a "text" <with> every & kind of \\ character\n'.repeat(50) + "\u2028 ü 😀 \u0001\t\r\n";
    await works("write_file", { path: "a", content });
    const result = await works("read_file", { path: "a" });
    assert.equal(text(result), content);
    assert.equal(result.structuredContent, undefined);
    const printed = await works("exec", { command: "echo once; echo again >&2" });
    assert.equal(JSON.stringify(printed).match(/once/g).length, 1, JSON.stringify(printed));
    assert.equal(printed._meta["io.github.picoclaw/details"].exit_code, 0);
    const stat = await works("file_stat", { path: "a" });
    assert.equal(stat.structuredContent.size_bytes, Buffer.byteLength(content));
    await works("write_file", { path: "large", content: "0123456789abcde\n".repeat(65536) });
    assert.equal(text(await works("read_file", { path: "large" })).length, 1 << 20);
  },
  async "errors say what would help"() {
    await refused("read_file", { path: "/etc/shadow" }, "outside the workspace", "workspace.outside", "tools.allow_read_paths");
    await refused("read_file", { pth: "a" }, 'did you mean "path"');
    await refused("read_file", { path: "missing" }, "file not found");
    await assert.rejects(call("no_such_tool", {}), /no_such_tool/);
  },
  async "progress comes while a command runs"() {
    await works("exec", { command: "mkfifo fifo" });
    let seen = "";
    const done = call("exec", { command: "echo first; cat fifo" }, { onprogress: ({ message }) => (seen += message) });
    await eventually("the first output", () => seen.includes("first"));
    await works("exec", { command: "echo second > fifo" });
    assert.match(text(await done), /first\nsecond/);
  },
  async "what is cancelled ends"() {
    const abort = new AbortController();
    const done = call("exec", { command: "echo $$ > pid; exec sleep 3051" }, { signal: abort.signal });
    const pid = () => (existsSync(`${workspace}/pid`) ? readFileSync(`${workspace}/pid`, "utf8").trim() : "");
    const commandLine = () => { try { return readFileSync(`/proc/${pid()}/cmdline`, "utf8"); } catch { return ""; } };
    await eventually("the command runs", () => pid() && commandLine().includes("3051"));
    abort.abort();
    await assert.rejects(done);
    await eventually("the command has ended", () => !commandLine().includes("3051"));
  },
  async "a search that is cancelled ends"() {
    // A thousand names of one file, so that there is much to search and little on disk.
    await works("exec", { command: "mkdir many && head -c 1000000 /dev/urandom | base64 > many/f && for i in $(seq 10); do cp -rl many more && mv more many/$i; done" });
    const searching = () => readdirSync("/proc").some((pid) => {
      try { return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("c4nc3lled"); } catch { return false; }
    });
    const abort = new AbortController();
    const done = call("grep", { pattern: "(c4nc3lled|[0-9]+[a-z]+){3,40}[^A-Za-z0-9+/=]", path: "many" }, { signal: abort.signal });
    await eventually("the search runs", searching);
    abort.abort();
    await assert.rejects(done);
    await eventually("the search has ended", () => !searching());
    rmSync(`${workspace}/many`, { recursive: true });
  },
  async "a person is asked"() {
    await works("exec", { command: "touch made" });
    assert.ok(asked.length === 1 && asked[0].includes("make-it"), `the questions were ${JSON.stringify(asked)}`);
    assert.ok(existsSync(`${workspace}/made`));
  },
  async "roots narrow and never widen"() {
    mkdirSync(`${workspace}/sub`);
    writeFileSync(`${workspace}/sub/inner`, "inner");
    const name = async (...dirs) => { roots = dirs; await client.sendRootsListChanged(); };
    await name(`${workspace}/sub`);
    assert.equal(text(await works("read_file", { path: "inner" })), "inner");
    await refused("read_file", { path: `${workspace}/a` }, "outside allowed paths");
    await refused("exec", { command: `cat ${workspace}/a` }, "outside");
    await name(`${workspace}/sub`, `${workspace}/large`, "/etc");
    await refused("read_file", { path: "/etc/hostname" }, "outside allowed paths");
    await name("/etc", "/");
    await refused("read_file", { path: "/etc/hostname" }, "outside the workspace");
    await name(`${workspace}/gone`);
    await refused("read_file", { path: "a" }, "roots");
    await name();
    await works("read_file", { path: "a" });
  },
  async "what an operator switches off is gone, and the client is told"() {
    const tools = async () => (await client.listTools()).tools.map((tool) => tool.name);
    const operator = (...args) => execFileSync(program, ["plugin", ...args], { env, stdio: "pipe" });
    assert.ok((await tools()).includes("grep"));
    let before = listChanges;
    operator("disable", "grep");
    await eventually("the client is told", async () => listChanges > before && !(await tools()).includes("grep"));
    before = listChanges;
    operator("enable", "grep");
    await eventually("the client is told again", async () => listChanges > before && (await tools()).includes("grep"));
  },
  async "what is too large is an error and nothing more"() {
    await assert.rejects(call("write_file", { path: "b", content: "x".repeat(50 << 20) }, { timeout: 30_000 }), /longer than|too long|413/);
    await client.ping();
    await works("read_file", { path: "a" });
  },
};

for (const [name, step] of Object.entries(steps)) {
  try {
    await step();
    console.log(`ok: ${name}`);
  } catch (error) {
    console.log(`FAILED: ${name}\n${error.stack}`);
    process.exitCode = 1;
    break;
  }
}
await client.close();
