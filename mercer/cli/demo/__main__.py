"""Run the demo with ``python -m mercer.cli.demo``."""

import sys
from pathlib import Path

from mercer.cli.demo.comparison import run

if __name__ == "__main__":
    run(Path(sys.argv[1]) if sys.argv[1:] else None)
