"""How soon something is on screen: `python tests/benchmarks/start_up.py [TOKENIZER FOLDER]`.

Prints ratios within one run, since machines differ: first paint against an empty Textual app,
first tokens with a warm cache, and `sftui --help` against `python -c pass`.
"""

from __future__ import annotations

import sys

from measure import EMPTY_APP, REPO, best, command, times_until

SHARED = REPO.parent / "shared" / "testdata" / "tokenizers" / "llama-3-8b-instruct"


def main(tokenizer: str) -> None:
    data = str(REPO / "sample_data" / "chat_messages.jsonl")
    opened = ["-m", "sftui", data, "-t", tokenizer]
    times_until(opened, "proven", 1)  # warms the cache
    bare, helped = command([sys.executable, "-c", "pass"]), command([sys.executable, "-m", "sftui", "--help"])
    print(f"python -c pass     {best(bare)}")
    print(f"sftui --help       {best(helped)}   ({min(helped) / min(bare):.1f} times, bar {2 * min(bare) * 1000 + 100:.0f} ms)")
    empty = times_until(["-c", EMPTY_APP], "ready")
    first = times_until(opened, "chat_mes")
    tokens = times_until(opened, lambda text: "token" in text and "label" in text and "trained" in text)
    print(f"empty Textual app  {best(empty)}")
    print(f"first paint        {best(first)}   ({min(first) / min(empty):.2f} times, bar 1.5)")
    print(f"first tokens       {best(tokens)}   (bar 1500 ms, tokenizer {tokenizer.rsplit('/', 1)[-1]})")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else str(SHARED))
