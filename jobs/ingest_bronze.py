"""The stream of one dataset as a process of its own. Also runs under spark-submit:

spark-submit --driver-class-path '.jars/*' jobs/ingest_bronze.py events --drain
"""

import sys

from smelter.cli.main import run

if __name__ == "__main__":
    sys.exit(run(["ingest", *sys.argv[1:]]))
