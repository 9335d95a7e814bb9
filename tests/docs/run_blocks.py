"""Run Python blocks in one process, one a line of stdin as JSON, and answer each with what it printed."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import traceback
from typing import Any


def main() -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    for line in sys.stdin:
        asked = json.loads(line)
        told, failed = io.StringIO(), False
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
            try:
                exec(compile("\n" * asked["line"] + asked["code"], "page", "exec"), names)
            except BaseException:
                failed = True
                traceback.print_exc()
        sys.stdout.write(json.dumps({"printed": told.getvalue(), "failed": failed}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
