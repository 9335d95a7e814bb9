"""An inspector in a page of `sftui serve`: it ends with the server, however that ends."""

from __future__ import annotations

import os
import threading

from textual import messages
from textual.driver import Driver
from textual.drivers.web_driver import WebDriver

GRACE = 1.0
"""Seconds that an inspector has to end by itself once nobody serves it."""


def ending_with_server(driver: type[Driver]) -> type[Driver]:
    """The driver, ending the app where its input ends: the kernel closes that even of a server that was killed.

    Textual's own stops reading then and stays (8.2.8, drivers/web_driver.py).
    """
    if not issubclass(driver, WebDriver):
        return driver

    class ServedDriver(driver):  # type: ignore[valid-type, misc]
        def run_input_thread(self) -> None:
            super().run_input_thread()
            if not self.exit_event.is_set():
                os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno)  # nobody reads what it says
                last = threading.Timer(GRACE, os._exit, (1,))
                last.daemon = True
                last.start()
                self._app.call_from_thread(self._app.post_message, messages.ExitApp())

    return ServedDriver
