"""FastSeq (Yan et al. 2021); ``documents`` are the types of its JSON.

- Tables 1 and 2, whole models on a CPU, with PyTorch and transformers: ``whole_models``, ``whole_decoding``,
  ``random_models``, ``whole_models_report``; ``same_outputs``: whether both translate alike; ``limits``: how much
  faster a program can be
- Section 4.3: ``pipeline_cost``, ``pipeline_cost_report``
- Table 3: ``ngram_timing``, ``ngram_timing_report``; on a GPU, with PyTorch and Triton: ``gpu_ngrams``
- Sections 4.1.2 and 5.2: ``encoder_cache``, ``encoder_cache_report``
"""
