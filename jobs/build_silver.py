"""Silver of one dataset as a process of its own. Also runs under spark-submit:

spark-submit --driver-class-path '.jars/*' jobs/build_silver.py events
"""

import sys

from smelter.cli.main import run

if __name__ == "__main__":
    sys.exit(run(["silver", *sys.argv[1:]]))
