"""What reads the models of other toolkits for the native engine. Each has ``recognised`` and ``read``.

- ``model``: finds the reader of a model, and writes model folders
- ``found``: what a reader returns, and the tokenizer files beside a model; ``float_model``: its weights
- ``ctranslate2``: folders of CTranslate2, packages of Argos; with ``ctranslate2_model``, ``ctranslate2_weights`` and
  ``read_ctranslate2``
- ``huggingface``: folders of Hugging Face; ``huggingface_folder`` reads their files, ``huggingface_pieces`` their
  vocabularies, ``huggingface_bart`` and ``huggingface_t5`` their weights
- ``marian``: Marian's models, also those of Firefox and Bergamot; with ``marian_binary``, ``marian_parameters``,
  ``marian_shortlist``, ``read_marian`` and ``marian_recurrent``
"""
