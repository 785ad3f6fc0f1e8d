"""The engines that a study compares.

- ``engines``: one class in one module each, behind the interface of nmt_frontier
"""
