"""Writes the OpenAPI document: `python -m app.api.openapi <file>`, for `make openapi`."""

import sys
from pathlib import Path

from app.api.app import OPERATIONS
from app.api.describe import rendered

if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(rendered(OPERATIONS))
