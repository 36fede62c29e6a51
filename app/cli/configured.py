"""Settings for a command, with what was given on the command line on top, and failures that a person can read."""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path

from app.cli.console import USAGE, Failure
from app.config.faults import ConfigError
from app.config.settings import PREFIX, Settings, load_settings
from app.services.targets import completed


def environment(arguments: argparse.Namespace) -> dict[str, str]:
    """The process's variables with the command line's own on top (`--port` wins over the variable)."""
    found = dict(os.environ)
    for name in ("host", "port", "workers", "data_dir"):
        value = getattr(arguments, name, None)
        if value is not None:
            found[PREFIX + name.upper()] = str(value)
    return found


def read_settings(arguments: argparse.Namespace, environ: Mapping[str, str] | None = None) -> Settings:
    """The settings. Raises `Failure` with the sentence that says which setting is wrong."""
    try:
        settings = load_settings(environ or environment(arguments), None if arguments.config is None else Path(arguments.config))
        completed(settings.upstreams)
    except ConfigError as error:
        raise Failure(f"configuration: {error}", USAGE) from None
    return settings
