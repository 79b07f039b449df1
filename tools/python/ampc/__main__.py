"""python -m ampc: the command."""

import os
import sys


def main() -> None:
    command = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "ampc")
    os.execv(command, ["ampc", *sys.argv[1:]])


if __name__ == "__main__":
    main()
