"""The wire between picoclaw and a plugin, in Python: handshake, credentials, the service, and the host's end.

docs/wire.md tells what happens here and why. Debian has what it needs: python3-grpcio and python3-protobuf.
"""

import concurrent.futures
import ctypes
import json
import os
import signal
import sys
import threading

import grpc

import plugin_pb2 as pb

COOKIE = ("PICOCLAW_PLUGIN", "a picoclaw host started this")
PROTOCOL = 2
MAX_MESSAGE = 64 << 20
MAX_CREDENTIALS = 64 << 10
MAX_CALLS = 64  # at the same time
MAX_THREADS = MAX_CALLS + 16  # streams between calls take a thread each, and so does what else the host asks


class ToolError(Exception):
    """An error that an agent can act on. The codes are in sdk/pluginpb/result.go; a tool may use others."""

    def __init__(self, code, message, rule="", hint=""):
        super().__init__(message)
        self.wire = pb.Error(code=code, message=message, rule=rule, hint=hint)


def progress(done, total=0, message=""):
    return pb.CallEvent(progress=pb.Progress(done=done, total=total, message=message))


def output(text, stream=pb.Output.STREAM_STDOUT):
    return pb.CallEvent(output=pb.Output(stream=stream, data=text.encode()))


def result(text, structured=None):
    encoded = b"" if structured is None else json.dumps(structured).encode()
    return pb.CallEvent(result=pb.Result(text=text, structured=encoded))


def failure(error):
    return pb.CallEvent(result=pb.Result(error=error))


def log(level, message, **fields):
    """Writes to the host's log: a line of JSON on standard error, as hclog has it."""
    print(json.dumps({"@level": level, "@message": message, **fields}), file=sys.stderr, flush=True)


class Call:
    """What a handler may know besides its arguments."""

    def __init__(self, policy):
        self.policy = policy
        self.grants = policy["grants"]
        self.config = policy.get("config", {})
        self.cancelled = threading.Event()  # the caller gave up, or its time is over
        self.log = log


class Service:
    """The methods of plugin.proto, but for Busy."""

    def __init__(self, manifest, handlers):
        self.manifest = json.dumps(manifest).encode()
        self.handlers = handlers
        self.policy = None
        self.running = 0
        self.draining = False
        self.changed = threading.Condition()

    def describe(self, _request, _context):
        return pb.DescribeResponse(manifest=self.manifest)

    def configure(self, request, context):
        with self.changed:
            if self.policy is not None:
                context.abort(grpc.StatusCode.FAILED_PRECONDITION, "this plugin has its policy already; a policy is for life")
            self.policy = json.loads(request.policy)
        return pb.ConfigureResponse()

    def call(self, requests, context):
        """Answers the calls on a stream, one after another."""
        gone = threading.Event()
        running = []  # the call that is being answered
        def end():
            gone.set()
            for call in running:
                call.cancelled.set()
        if not context.add_callback(end):
            end()
        for request in requests:
            if request.HasField("answer"):
                continue  # the tools here ask nothing
            call = self.enter(request, context)
            if call is None:
                yield failure(pb.Error(code="failed", message=f"{MAX_CALLS} calls are under way", hint="call again when one has ended"))
                continue
            running[:] = [call]
            if gone.is_set():
                call.cancelled.set()
            late = threading.Timer(request.timeout_millis / 1000, call.cancelled.set)
            late.daemon = True
            if request.timeout_millis:
                late.start()
            try:
                yield from self.answer(call, request)
            finally:
                late.cancel()
                with self.changed:
                    self.running -= 1
                    self.changed.notify_all()

    def enter(self, request, context):
        """Begins a call; None if too many are under way."""
        if request.tool not in self.handlers:
            context.abort(grpc.StatusCode.NOT_FOUND, f"the plugin has no tool {request.tool!r}")
        with self.changed:
            if self.draining:
                context.abort(grpc.StatusCode.UNAVAILABLE, "the plugin is stopping")
            if self.policy is None:
                context.abort(grpc.StatusCode.FAILED_PRECONDITION, "the plugin has no policy yet (Configure)")
            if self.running == MAX_CALLS:
                return None
            self.running += 1
        return Call(self.policy)

    def answer(self, call, request):
        """Yields a call's events, the result last."""
        try:
            # The host has validated the arguments against the schema, and written them anew.
            for event in self.handlers[request.tool](call, **json.loads(request.arguments)):
                yield event
                if event.HasField("result"):
                    return
            yield failure(pb.Error(code="cancelled", message=f"{request.tool} was cancelled"))
        except ToolError as error:
            yield failure(error.wire)
        except Exception as error:  # a fault of this call must not become that of others
            log("error", "a tool failed", tool=request.tool, error=repr(error))
            yield failure(pb.Error(code="panic", message=f"{request.tool} failed: {error!r}", hint="this is a fault in the plugin; its log has it"))

    def drain(self, _request, context):
        with self.changed:
            self.draining = True
            self.changed.wait_for(lambda: self.running == 0, timeout=context.time_remaining())
        return pb.DrainResponse()


def serve(manifest, handlers):
    """Serves a host until it is done with this process, or gone."""
    if str(PROTOCOL) not in os.environ.get("PLUGIN_PROTOCOL_VERSIONS", str(PROTOCOL)).split(","):
        sys.exit(f"this plugin speaks version {PROTOCOL} of picoclaw's plugin protocol, which this picoclaw does not")
    forbid_tracing()
    stdin = sys.stdin.buffer
    credentials = json.loads(stdin.readline(MAX_CREDENTIALS))
    threading.Thread(target=lifeline, args=(stdin,), daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))

    service = Service(manifest, handlers)
    server = grpc.server(
        concurrent.futures.ThreadPoolExecutor(max_workers=MAX_THREADS),
        options=[("grpc.max_receive_message_length", MAX_MESSAGE), ("grpc.max_send_message_length", MAX_MESSAGE)],
    )
    server.add_generic_rpc_handlers((plugin_service(service), health_service(), *library_services(server)))
    socket = os.path.join(os.environ["PLUGIN_UNIX_SOCKET_DIR"], "plugin.sock")
    server.add_secure_port("unix:" + socket, grpc.ssl_server_credentials(
        [(credentials["key"].encode(), credentials["certificate"].encode())],
        root_certificates=credentials["host"].encode(),  # the only client that may connect
        require_client_auth=True,
    ))
    server.start()
    # go-plugin's handshake: its own version, ours, and where to connect to.
    print(f"1|{PROTOCOL}|unix|{socket}|grpc", flush=True)
    server.wait_for_termination()


def plugin_service(service):
    def unary(method, request, response):
        return grpc.unary_unary_rpc_method_handler(method, request.FromString, response.SerializeToString)

    return grpc.method_handlers_generic_handler("picoclaw.plugin.v2.Plugin", {
        "Describe": unary(service.describe, pb.DescribeRequest, pb.DescribeResponse),
        "Configure": unary(service.configure, pb.ConfigureRequest, pb.ConfigureResponse),
        "Drain": unary(service.drain, pb.DrainRequest, pb.DrainResponse),
        "Call": grpc.stream_stream_rpc_method_handler(service.call, pb.CallRequest.FromString, pb.CallEvent.SerializeToString),
    })


def health_service():
    """gRPC's health service, which the host asks whether the plugin still answers: the message {status: SERVING}."""
    return grpc.method_handlers_generic_handler("grpc.health.v1.Health", {
        "Check": grpc.unary_unary_rpc_method_handler(lambda _request, _context: b"\x08\x01"),
    })


def library_services(server):
    """What go-plugin asks besides: to end, and for what was printed, of which there is nothing to tell."""
    def shutdown(_request, _context):
        server.stop(grace=1)
        return b""

    return (
        grpc.method_handlers_generic_handler("plugin.GRPCController", {"Shutdown": grpc.unary_unary_rpc_method_handler(shutdown)}),
        grpc.method_handlers_generic_handler("plugin.GRPCStdio", {
            "StreamStdio": grpc.unary_stream_rpc_method_handler(lambda _request, _context: iter(())),
        }),
    )


def lifeline(stdin):
    """Standard input stays open for as long as the host lives. A plugin that starts processes ends them here, too."""
    while stdin.read(4096):
        pass
    os._exit(0)


def forbid_tracing():
    """Keeps other processes of the same user out of this one's memory, which holds the key."""
    set_dumpable = 4
    if ctypes.CDLL(None, use_errno=True).prctl(set_dumpable, 0, 0, 0, 0) != 0:
        sys.exit("prctl: " + os.strerror(ctypes.get_errno()))


def main(manifest, handlers):
    """The whole main function of a plugin."""
    name, value = COOKIE
    if sys.argv[1:] == ["describe"]:
        print(json.dumps(manifest, indent=2))
    elif len(sys.argv) == 1 and os.environ.get(name) == value:
        serve(manifest, handlers)
    else:
        sys.exit(f"{manifest['id']} is a picoclaw plugin: {manifest['doc']}\nIt is started by picoclaw; `{manifest['id']} describe` prints its manifest.")
