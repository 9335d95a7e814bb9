"""`sftui serve`: the inspector in a browser, through textual-serve.

Each page that is opened runs an inspector of its own, as the user who started the server: whoever may open one can read
the data and write files. So the address has a token that is made anew each time, everything without it is refused, and
nothing but this machine is answered unless requested.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import os
import secrets
import shlex
import socket
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

import click

from sftui.cli.app import inspect
from sftui.cli.inspector import refuse_slips
from sftui.cli.opening import open_options
from sftui.cli.terminal import narrate
from sftui.errors import SftuiError
from sftui.text import many

if TYPE_CHECKING:
    from aiohttp import web

HERE = "127.0.0.1"
IN_A_BROWSER = {"LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
"""A page has every glyph and colour, whatever the terminal has that it is served from."""
# As in `sftui.starting`: nothing is imported from the current folder, which may be a dataset's.
_START = "import sys; sys.path[:] = filter(None, sys.path); from sftui.cli import main; main()"
TOKEN_BYTES = 24
GOODBYE = 0.7
"""Seconds that open pages have to close when the server ends."""


def serve(host: str, port: int, public: bool, **given: Any) -> int:
    """Serve the inspector until Ctrl-C; SftuiError where it cannot be opened or served."""
    if find_spec("textual_serve") is None:
        raise SftuiError(
            "textual-serve is not installed",
            why="it is what serves the inspector to a browser",
            fix="install it with pip install 'sftui[serve]'",
        )
    if "-" in given["data"]:
        raise SftuiError("stdin cannot be served", why="each browser page opens the data again", fix="give a file")
    listening = listen(host, port, public)
    try:
        refuse_slips(open_options(given).paths, ())  # what a page could show nothing of is reported here
        token = secrets.token_urlsafe(TOKEN_BYTES)
        named = f"[{host}]" if ":" in host else host
        address = f"http://{named}:{listening.getsockname()[1]}"
        _run(words_of(inspect, given), listening, address, token)
    finally:
        listening.close()
    return 0


def listen(host: str, port: int, public: bool) -> socket.socket:
    """A socket that listens at an address; SftuiError for one that others reach, unless `public`, or that is taken."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise SftuiError(f"there is no address {host}", why=str(error), fix=f"omit --host for {HERE}") from error
    if not public and not all(ipaddress.ip_address(str(one[4][0]).partition("%")[0]).is_loopback for one in found):
        raise SftuiError(
            f"other machines can reach {host}",
            why="anyone with the address could read the data and write files as you, and nothing is encrypted",
            fix=f"omit --host for {HERE} and use an SSH tunnel, or add --public",
        )
    family, kind, protocol, _, address = found[0]
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(16)
    except OSError as error:
        made.close()
        why = (error.strerror or str(error)).lower()
        raise SftuiError(f"port {port} of {host} cannot be used", why=why, fix="give another --port") from error
    return made


def words_of(command: click.Command, values: Mapping[str, Any]) -> list[str]:
    """A command line that gives the options of a command these values."""
    words: list[str] = []
    data: Iterable[str] = ()
    for param in command.params:
        value = values.get(param.name or "")
        if isinstance(param, click.Argument):
            data = value or ()
        elif isinstance(param, click.Option) and value not in (None, False, (), param.default):
            name = max(param.opts, key=len)
            for one in value if param.multiple else [value]:
                words += [name] if param.is_flag else [f"{name}={one}"]
    return [*words, "--", *data]


def _run(words: list[str], listening: socket.socket, address: str, token: str) -> None:
    from aiohttp import web
    from textual_serve.server import Server

    os.environ.pop("TMUX", None)  # what a page copies goes to the browser
    os.environ.update(IN_A_BROWSER)
    command = shlex.join([sys.executable, "-X", "utf8", "-c", _START, *words])

    class Inspectors(Server):
        """Every page below the token, without words of its own on stdout."""

        pages: ClassVar[set[asyncio.Task[Any]]] = set()

        async def on_startup(self, app: web.Application) -> None:
            """What is served is reported by the command."""

        async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
            page: Any = asyncio.current_task()
            self.pages.add(page)
            try:
                return await super().handle_websocket(request)
            finally:
                self.pages.discard(page)

        async def on_shutdown(self, app: web.Application) -> None:
            """Each page ends its inspector; a browser that does not answer is not waited for."""
            if self.pages:
                narrate(f"{many(len(self.pages), 'open page')} closed")
                for page in self.pages:
                    page.cancel()
                await asyncio.wait(self.pages, timeout=GOODBYE)

    server = Inspectors(command, title="sftui", public_url=address)

    async def made() -> web.Application:
        outer = web.Application(middlewares=[guard(token, address)])
        outer.add_subapp(f"/{token}/", await server._make_app())
        return outer

    click.echo(f"{address}/{token}/")
    narrate("open this address in a browser; it changes each time; Ctrl-C stops the server")
    sys.stdout.flush()
    web.run_app(made(), sock=listening, print=None, access_log=None, shutdown_timeout=GOODBYE / 10)


def guard(token: str, address: str) -> Any:
    """The middleware that refuses what does not begin with the token, and lets a page load nothing from elsewhere."""
    from aiohttp import web

    socket_address = address.replace("http://", "ws://")
    headers = {
        "Content-Security-Policy": (
            "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline';"
            f" img-src 'self' data:; font-src 'self' data:; connect-src 'self' {socket_address}; frame-ancestors 'none'"
        ),
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }

    @web.middleware
    async def guarded(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        given = request.path.split("/", 2)[1]
        origin = request.headers.get("Origin", address)
        if not hmac.compare_digest(given.encode(), token.encode()) or origin != address:
            return web.Response(status=403, text="sftui: this is not the address that sftui printed\n", headers=headers)
        response = await handler(request)
        if not response.prepared:
            response.headers.update(headers)
        return response

    return guarded
