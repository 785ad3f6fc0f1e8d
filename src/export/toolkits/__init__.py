"""Readers of models that were trained elsewhere, one module a toolkit; export.model chooses among them.

- ``found``: what a reader returns, and the tokenizer files beside a model
- ``ctranslate2``: folders of CTranslate2, and Argos' packages
- ``huggingface``: folders of Hugging Face; ``huggingface_folder`` reads their weights and options,
  ``huggingface_pieces`` their vocabularies
- ``huggingface_bart``: MarianMT (OPUS-MT), BART, mBART-50, M2M100 and NLLB
- ``huggingface_t5``: T5, T5 v1.1, mT5 and MADLAD-400
- ``opennmt_tf``: runs of OpenNMT-tf
- ``marian``: Marian's models, also those of Firefox and Bergamot
"""
