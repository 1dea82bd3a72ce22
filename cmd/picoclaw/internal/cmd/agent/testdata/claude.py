#!/usr/bin/env python3
"""Plays Claude Code: its hands are the server that it is given, and it calls what CALLS beside it says."""
import json, pathlib, subprocess, sys

config = json.loads(sys.argv[sys.argv.index("--mcp-config") + 1])["mcpServers"]["picoclaw"]
server = subprocess.Popen([config["command"], *config["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
count = 0


def ask(method, params):
    global count
    count += 1
    server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": count, "method": method, "params": params}) + "\n")
    server.stdin.flush()
    while True:
        answer = json.loads(server.stdout.readline())
        if answer.get("id") == count:
            return answer["result"]


def tell(event):
    print(json.dumps(event), flush=True)


ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "played", "version": "1"}})
server.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
tools = ["mcp__picoclaw__" + tool["name"] for tool in ask("tools/list", {})["tools"]]
tell({"type": "system", "subtype": "init", "tools": tools, "mcp_servers": [{"name": "picoclaw", "status": "connected"}]})
for number, call in enumerate(json.loads(pathlib.Path(__file__).with_name("calls.json").read_text())):
    tell({"type": "assistant", "message": {"content": [
        {"type": "tool_use", "id": f"t{number}", "name": "mcp__picoclaw__" + call["name"], "input": call["arguments"]}]}})
    result = ask("tools/call", call)
    tell({"type": "user", "message": {"content": [
        {"type": "tool_result", "tool_use_id": f"t{number}", "content": json.dumps(result), "is_error": result.get("isError", False)}]}})
tell({"type": "result", "subtype": "success", "is_error": False, "num_turns": 1, "result": "done", "total_cost_usd": 0.01,
      "usage": {"input_tokens": 10, "output_tokens": 5}})
