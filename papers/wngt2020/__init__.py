"""OpenNMT at WNGT 2020 (Klein et al. 2020).

- Table 5: ``ladder``, ``ladder_report``, ``rungs``; in the native engine, row by row: ``table5``; what it owes to its
  batches: ``batches``
- Table 6: ``end_to_end``, ``end_to_end_report``
- Figure 2: ``scaling``, ``scaling_report``
"""
