# SPDX-License-Identifier: BSD-3-Clause
# Where tests/run begins. Old interpreters can read this file, and so come as far as its sentence.
import sys

if sys.version_info < (3, 9):
    sys.stderr.write("run: python3 is older than 3.9; install a newer package python3.\n")
    sys.exit(2)

import main  # noqa: E402

main.main()
