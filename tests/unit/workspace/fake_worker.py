"""A worker that misbehaves on purpose: `python fake_worker.py BEHAVIOUR`, spoken to as the real one."""

import os
import pickle
import sys
import time
from typing import Any

from sftui.model import Inspection, Row, RowSummary
from sftui.workspace import events as ev
from sftui.workspace import requests as rq


def main() -> None:
    behaviour = sys.argv[1]
    out = os.fdopen(os.dup(1), "wb")
    version = 0
    late = []

    def send(event: Any) -> None:
        pickle.dump(event, out)
        out.flush()

    def row(ticket: int, index: int, version: int) -> ev.RowReady:
        return ev.RowReady(ticket, version, None, Inspection(Row(index, {}, f"made with {version}", "")))

    while True:
        request = pickle.load(sys.stdin.buffer)
        if isinstance(request, (rq.OpenRequest, rq.SetRecipe)):
            version = request.version
        if isinstance(request, rq.OpenRequest) and request.row is not None:
            send(row(request.ticket, request.row, version))
        if isinstance(request, rq.SummariesRequest):
            if behaviour == "list-crash":
                os.kill(os.getpid(), 11)
            send(ev.SummariesReady(request.ticket, version, None, (RowSummary(14, ""),)))
        if isinstance(request, rq.RowRequest):
            if behaviour == "late":  # the answers of all questions come only after the third, the oldest last
                late.append(row(request.ticket, request.index, version))
                for event in reversed(late) if len(late) == 3 else ():
                    send(event)
            elif behaviour == "old-version":
                send(row(request.ticket, request.index, version - 1))
                send(row(request.ticket, request.index, version))
            elif behaviour == "crash":
                if request.index == 13:
                    os.kill(os.getpid(), 11)
                send(row(request.ticket, request.index, version))
            elif behaviour == "list-crash":
                send(row(request.ticket, request.index, version))
            elif behaviour == "download":
                send(ev.DataLoading("loading dataset org/set … 1 s"))
            elif behaviour == "busy":
                while True:
                    time.sleep(60)


if __name__ == "__main__":
    main()
