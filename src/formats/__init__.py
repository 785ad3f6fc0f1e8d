"""Files: records, batches, shapes, model folders, maps, measurements.

Text:

- ``records``: pairs as compressed TSV in shards; test sets, and translations of them
- ``sentence``: a sentence as a line of text, or as pieces
- ``tokenizers``: how a model folder splits text into pieces
- ``protection``: text that a translation must have as it is, and the symbols that stand for it
- ``batches``: records as columns of bytes, for compiled loops

Models:

- ``model_folder``: a model folder and its ``model.json``
- ``learning``: how a model was trained, and what it learned from
- ``shape``: layers and units of a model, and its number of parameters
- ``model_description``: the Python files from which OpenNMT-tf builds models
- ``ctranslate2_model``: the weights in CTranslate2's ``model.bin``, and options of its converters
- ``ctranslate2_products``: how CTranslate2 multiplies integers on this CPU
- ``ctranslate2_loading``: load its models with the types that this machine computes
- ``conversion``: models of OpenNMT-tf to CTranslate2's format
- ``opennmt_tf``: OpenNMT-tf's checkpoints and vocabulary files
- ``marian``: Marian's model folders and command line
- ``native_weights``, ``native_vocabulary`` and ``native_map``: the files of the native engine
- ``native_quantization`` and ``native_packing``: how its weights become integers, and panels
- ``numbered``: from text to the numbers of a native model's pieces and back
- ``safetensors``: safetensors files that are mapped into memory
- ``decoding``: the limits of decoding with any engine
- ``vocabulary_map``: vocabulary maps as CTranslate2 reads them

Measurements:

- ``measurement``: the record of a measurement (command: write its documentation), the spread of runs, and names that
  experiments share with their tables
- ``switches``: parts of decoding that can be turned off, the table that options, records and engines follow
- ``counts``: what cleaning a corpus dropped
- ``rounding``: what a model loses in fewer bits
- ``gap``: how students compare with their teacher and with one another
- ``robustness``: how systems translate what people write
- ``experiments``: the JSON of experiments that are timed in one process
- ``schema_from_dataclass``: JSON schema and table of described fields
"""
