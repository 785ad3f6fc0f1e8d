"""Readers of models that were trained elsewhere, one module a toolkit; export.model chooses among them.

- ``found``: what a reader returns, and the tokenizer files beside a model
- ``ctranslate2``: folders of CTranslate2, and Argos' packages
- ``huggingface``: MarianMT in folders of Hugging Face
- ``marian``: Marian's models, also those of Firefox and Bergamot
"""
