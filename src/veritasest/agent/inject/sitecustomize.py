"""Python imports this module by itself, before the user's code, because its folder comes first on PYTHONPATH.

It starts the agent, then runs the `sitecustomize` that the user's environment may have of its own. The package
`veritasest` is loaded from VERITASEST_HOME without touching `sys.path`: the user's interpreter need not have it
installed, and finds nothing new to import.
"""

import importlib.machinery
import importlib.util
import os
import sys


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
    home = os.environ.get("VERITASEST_HOME")
    if not home or not os.environ.get("VERITASEST_TRACE"):
        return
    try:
        _load_package(home)
        from veritasest import agent

        agent.start()
    except Exception as error:  # without the agent nothing would end the job or record its steps
        sys.stderr.write(
            f"veritasest: the agent cannot start in {sys.executable} ({sys.version.split()[0]}): {error!r}\n"
        )
        sys.stderr.flush()
        os._exit(4)


def _run_users_own() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    others = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


_start_agent()
_run_users_own()
