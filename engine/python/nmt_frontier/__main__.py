"""``python -m nmt_frontier`` is the command ``nmt-frontier``."""

from nmt_frontier.command import main

main()
