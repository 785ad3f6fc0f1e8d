"""OpenNMT at WNMT 2018 (Senellart et al. 2018).

- Figure 2: ``components`` (CTranslate2), ``components_native``, ``components_tf`` (OpenNMT-tf), ``components_report``,
  ``documents``
- Figure 3: ``beam_batch``, ``beam_batch_report``
- Table 1: ``experiments.map_timing`` and ``report.maps``; Table 3: ``table3``, shown by ``report.rungs``,
  ``experiments.architectures``, and for "Tiny" ``papers.wngt2020.ladder``
"""
