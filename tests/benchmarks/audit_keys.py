"""How long a key press waits while 100,000 rows are audited: `python tests/benchmarks/audit_keys.py [ROWS]`.

Opens replicated sample rows, starts the audit, goes back to the tokens and presses movement, row
and zoom keys. Prints the time from the key to the first byte on the terminal, idle and during the
audit, so that the two can be compared within one run (bar: 50 ms).
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
import time
from pathlib import Path

from measure import KEYS, first_byte, until, write_rows
from pty_session import Terminal


def press(terminal: Terminal, count: int) -> str:
    taken = sorted((first_byte(terminal, key) * 1000, key) for key in itertools.islice(itertools.cycle(KEYS), count))
    middle, late, worst = taken[count // 2][0], taken[int(count * 0.95)][0], taken[-1]
    return f"p50 {middle:.1f} ms, p95 {late:.1f} ms, worst {worst[0]:.1f} ms (`{worst[1]}`) of {count} keys"


def main(rows: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        data = write_rows(Path(name) / "many.jsonl", rows)
        _, terminal = until(["-m", "sftui", str(data), "-t", "builtin:chatml"], "proven")
        try:
            terminal.until(f"of {rows:,}")
            terminal.settle(0.5)
            print(f"idle              {press(terminal, 100)}")
            terminal.send("A")
            terminal.until("rows/s", 60)
            terminal.send("\x1b")
            time.sleep(0.3)
            terminal.settle(0.05)
            print(f"during the audit  {press(terminal, 300)}   ({os.cpu_count()} cores)")
        finally:
            terminal.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
