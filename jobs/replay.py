"""Dead letters of one dataset are judged again, as a process of its own. Also runs under spark-submit:

spark-submit --driver-class-path '.jars/*' jobs/replay.py events
"""

import sys

from smelter.cli.main import run

if __name__ == "__main__":
    sys.exit(run(["dlq", "replay", *sys.argv[1:]]))
