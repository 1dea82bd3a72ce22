"""A plugin with two tools: one counts the words of a file, one ticks until it is told to stop."""

import collections
import re

import picoclaw
from workspace import Workspace

MANIFEST = {
    "id": "words",
    "version": "1.0.0",
    "doc": "Counts words, and shows how a plugin in Python is made.",
    "protocol": {"min": 2, "max": 2},
    # The interpreter is a program that is not linked statically: without exec, the sandbox has no libraries for it.
    "grants": {"workspace": "ro", "exec": True, "network": False},
    "tools": [
        {
            "name": "count_words",
            "doc": "Count the words of a file and name the most frequent.",
            "read_only": True,
            "idempotent": True,
            "input": {
                "type": "object",
                "properties": {
                    "path": {
                        "type": "string",
                        "description": "file to count, relative to the workspace",
                        "x-picoclaw-claim": "read",
                    },
                    "top": {
                        "type": "integer",
                        "description": "how many words to name",
                        "minimum": 0,
                        "maximum": 100,
                    },
                },
                "required": ["path"],
                "additionalProperties": False,
            },
            "output": {
                "type": "object",
                "properties": {
                    "words": {"type": "integer"},
                    "top": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["words", "top"],
                "additionalProperties": False,
            },
        },
        {
            "name": "tick",
            "doc": "Print a line again and again until the call is cancelled or the number is reached.",
            "read_only": True,
            "idempotent": True,
            "input": {
                "type": "object",
                "properties": {
                    "times": {"type": "integer", "description": "how many lines", "minimum": 1, "maximum": 100000},
                    "every_ms": {"type": "integer", "description": "milliseconds between them", "minimum": 1, "maximum": 10000},
                },
                "required": ["times"],
                "additionalProperties": False,
            },
        },
    ],
    # What the operator may set as plugins.words.config.
    "config": {
        "type": "object",
        "properties": {"top": {"type": "integer", "description": "how many words to name unless the call says", "default": 3}},
        "additionalProperties": False,
    },
}


def count_words(call, path, top=None):
    """A handler is a generator: it yields progress and output as they come, and last its result."""
    if top is None:
        top = call.config.get("top", 3)
    counts = collections.Counter()
    with Workspace(call.policy).open(path) as file:
        size, done = file.seek(0, 2), 0
        file.seek(0)
        for line in file:
            if call.cancelled.is_set():
                return
            counts.update(re.findall(r"\w+", line.decode("utf-8", "replace").lower()))
            done += len(line)
            if size > 1 << 20:
                yield picoclaw.progress(done, size, "bytes read")
    words, named = sum(counts.values()), [word for word, _ in counts.most_common(top)]
    yield picoclaw.result(f"{words} words" + (f", most often {', '.join(named)}" if named else ""), {"words": words, "top": named})


def tick(call, times, every_ms=100):
    call.log("info", "ticking", times=times)
    for n in range(1, times + 1):
        yield picoclaw.output(f"tick {n}\n")
        yield picoclaw.progress(n, times)
        if call.cancelled.wait(every_ms / 1000):
            call.log("info", "cancelled", ticks=n)
            return
    yield picoclaw.result(f"{times} ticks")


if __name__ == "__main__":
    picoclaw.main(MANIFEST, {"count_words": count_words, "tick": tick})
