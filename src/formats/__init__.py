"""What is on disk: records, batches, shapes, model folders, maps, measurements.

Text:

- ``records``: pairs as compressed TSV in shards; test sets, and translations of them
- ``sentence``: a sentence as a line of text holds it, or as pieces
- ``batches``: records as columns of bytes, for compiled loops

Models:

- ``model_folder``: a model folder and its ``model.json``
- ``shape``: layers and units of a model, and its number of parameters
- ``model_description``: the Python files from which OpenNMT-tf builds models
- ``ctranslate2_model``: the weights in CTranslate2's ``model.bin``, and options of its converters from other toolkits
- ``conversion``: models of OpenNMT-tf to CTranslate2's format
- ``opennmt_tf``: OpenNMT-tf's models and their vocabulary file
- ``marian``: Marian's model folders and command line
- ``loading``: load CTranslate2 and SentencePiece models
- ``native_model``: weights and vocabulary map of the native engine
- ``safetensors``: safetensors files that are used where they are mapped into memory
- ``decoding``: rules of decoding that hold everywhere: the longest output, types
- ``vocabulary_map``: vocabulary maps as CTranslate2 reads them

Measurements:

- ``measurement``: the record of a measurement, as a type (command, which writes its documentation), the spread of
  several runs, and names that experiments share with their tables
- ``schema_from_dataclass``: the schema and the page made from such a type
- ``comparison``: find measurements, compare them, the Pareto front of speed and quality
- ``best_model``: the best model of a study
- ``captions``: measurements in words, and marks of disturbed ones
- ``metrics``: sacreBLEU's BLEU with the tokenizer of a language; COMET's checkpoint, program and scores
- ``cost``: what machines cost, and a translation
"""
