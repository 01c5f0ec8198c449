"""Run the command line with ``python -m mercer``."""

from mercer.cli import main

if __name__ == "__main__":
    main()
