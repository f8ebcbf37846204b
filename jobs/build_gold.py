"""The gold tables of one dataset, brought up to date by a process of its own. Also runs under spark-submit:

spark-submit --driver-class-path '.jars/*' jobs/build_gold.py events
"""

import sys

from smelter.cli.main import run

if __name__ == "__main__":
    sys.exit(run(["gold", *sys.argv[1:]]))
