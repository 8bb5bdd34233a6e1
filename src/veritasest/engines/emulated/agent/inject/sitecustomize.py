"""Python imports this module by itself, before the user's code, because its folder comes first on PYTHONPATH. Where
Python does not look there (`python -I`, `-E`, `-S`), the emulated device runs it under another name.

It starts the agent, then runs the `sitecustomize` that the user's environment may have itself. The package `veritasest`
is loaded from the folder named in the run's settings (VERITASEST_RUN) without touching `sys.path`: the user's
interpreter need not have it installed, and finds nothing new to import.
"""

import importlib.machinery
import importlib.util
import json
import os
import sys
import time


def _load_package(home: str) -> None:
    if "veritasest" in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(
        "veritasest", os.path.join(home, "__init__.py"), submodule_search_locations=[home]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"no package in {home}")
    package = importlib.util.module_from_spec(spec)
    sys.modules["veritasest"] = package
    spec.loader.exec_module(package)


def _start_agent() -> None:
    path = os.environ.get("VERITASEST_RUN")
    if not path or "veritasest.engines.emulated.agent" in sys.modules or sys.version_info < (3, 10):
        return  # an older Python is some tool that the job calls, without a PyTorch that could be watched
    trace = None
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            settings = json.load(file)["native"]
        trace = settings["trace"]
        _load_package(settings["home"])
        from veritasest.engines.emulated import agent

        agent.start()
    except Exception as error:  # the job is not to blame: it runs on without the agent
        _report(trace, error)


def _report(trace: "str | None", error: Exception) -> None:
    """As guard.py does, which may be what cannot be loaded."""
    tb = error.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    record = {
        "kind": "own_error",
        "pid": os.getpid(),
        "t": time.monotonic(),
        "where": "the start of the agent",
        "type": f"{type(error).__module__}.{type(error).__qualname__}",
        "message": f"{error} ({sys.executable}, Python {sys.version.split()[0]})"[:500],
        "file": tb.tb_frame.f_code.co_filename if tb is not None else None,
        "line": tb.tb_lineno if tb is not None else None,
    }
    try:
        sys.stderr.write(f"veritasest: cannot observe {sys.executable}, the job continues: {error!r}\n")
        if trace is None:
            return
        descriptor = os.open(trace, os.O_WRONLY | os.O_APPEND)
        os.write(descriptor, json.dumps(record).encode() + b"\n")
        os.close(descriptor)
    except Exception:  # there is no other way to report it
        return


def _run_users_own() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    others = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


_start_agent()
if __name__ == "sitecustomize":
    _run_users_own()
