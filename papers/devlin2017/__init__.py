"""Devlin 2017.

- Section 4: ``identities``, ``identities_report``, ``rungs``; ``coverage`` of the 8,000 words
"""
