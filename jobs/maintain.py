"""The tables of the lake are looked after, as a process of its own. Also runs under spark-submit:

spark-submit --driver-class-path '.jars/*' jobs/maintain.py bronze.events
"""

import sys

from smelter.cli.main import run

if __name__ == "__main__":
    sys.exit(run(["maintain", "run", *sys.argv[1:]]))
