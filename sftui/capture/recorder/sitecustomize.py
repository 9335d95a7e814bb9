"""Python runs this by itself at its start, since `sftui capture` puts this folder first on PYTHONPATH.

It starts the recorder, takes the folder from sys.path again, and then runs the sitecustomize that would have run
without it. Nothing here imports sftui.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def run_the_next() -> None:
    """The user's own sitecustomize, of which there may be none: its errors are printed by `site` as ever."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if sys.version_info >= (3, 9) and os.environ.get("SFTUI_CAPTURE"):
    import sftui_recorder

    sftui_recorder.begin(os.environ["SFTUI_CAPTURE"])
sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or os.curdir) != HERE]
run_the_next()
