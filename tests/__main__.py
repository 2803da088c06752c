"""All tests: `python -m tests [options of pytest]`. A part that fails does not hide what the other one finds."""

import os
import subprocess
import sys

ALONE = ("-m", "machine and not slow")  # what contains processes and measures time
OTHERS = ("-n", "2", "-m", "not machine and not slow")

if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # thousands of processes would compile what they import
    sys.exit(max([subprocess.call((sys.executable, "-m", "pytest", *part, *sys.argv[1:])) for part in (ALONE, OTHERS)]))
