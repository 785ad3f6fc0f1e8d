"""Devlin 2017.

- Section 4: ``identities``, ``identities_report``
"""
