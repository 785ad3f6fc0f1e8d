"""Marian at WNMT 2018 (Junczys-Dowmunt et al. 2018).

- Figures 1 and 2: ``figures_report``, from the records of ``experiments.architectures``
- Tables 2 and 4, row by row: ``tables``, shown by ``report.rungs``; row 5 of Table 2: ``auto_tuning``
- Tables 2 to 4: ``experiments.architectures`` measures, ``report.architectures`` shows
"""
