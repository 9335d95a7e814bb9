"""Files of a web server: what it sends is held to what was requested, however it answers."""

from __future__ import annotations

from typing import Any

import aiohttp

from sftui.errors import SourceError
from sftui.sources.files import DOWNLOAD

PAGE = 4 << 20
"""Bytes of an answer to a request that names no range, such as the page of a folder."""
_PIECE = 1 << 16


class RangeResponse(aiohttp.ClientResponse):
    """An answer of which no more is read than was requested; SourceError where the server sends more."""

    async def read(self) -> bytes:
        if self._body is None:
            begin, most = _requested(self.request_info.headers.get("Range", ""))
            if begin and self.status == 200:
                self.close()
                raise SourceError("cannot be read", why="the server does not send byte ranges of a file", fix=DOWNLOAD)
            pieces, size = [], 0
            async for piece in self.content.iter_chunked(_PIECE):
                size += len(piece)
                if size > most and self.status < 400:
                    self.close()
                    why = f"the server sends more than the {most:,} bytes requested"
                    raise SourceError("cannot be read", why=why, fix=DOWNLOAD)
                pieces.append(piece)
                if size > most:
                    break
            self._body = b"".join(pieces)
        return self._body


def _requested(header: str) -> tuple[int, int]:
    """Where a range begins, and of how many bytes it is."""
    begin, _, last = header.removeprefix("bytes=").partition("-")
    return (int(begin), int(last) - int(begin) + 1) if begin and last else (0, PAGE)


async def client(**given: Any) -> aiohttp.ClientSession:
    """The session that fsspec requests with."""
    return aiohttp.ClientSession(response_class=RangeResponse, **given)
