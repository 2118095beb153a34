"""python -m capfst"""

from capfst.cli import main

main()
