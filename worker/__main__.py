"""The command `python -m worker`: the worker process, configured by `ITOSCOPE_*`."""

import sys

from worker.queue.app import main

sys.exit(main(sys.argv[1:]))
