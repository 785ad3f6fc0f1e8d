"""What is on disk: records, batches, shapes, model folders, maps, measurements.

Text:

- ``records``: pairs as compressed TSV in shards
- ``sentence``: a sentence as a line of text holds it
- ``batches``: records as columns of bytes, for compiled loops
- ``test_sets``: test sets, and translations of them

Models:

- ``model_folder``: a model folder and its ``model.json``
- ``shape``: layers and units of a model, and its number of parameters
- ``model_description``: the Python files from which OpenNMT-tf builds models
- ``conversion``, ``converters``: models of OpenNMT-tf and of other toolkits to CTranslate2's format
- ``ctranslate2_model``: the weights in CTranslate2's ``model.bin``
- ``opennmt_checkpoint``, ``opennmt_vocabulary``: OpenNMT-tf's models and their vocabulary file
- ``marian``: Marian's model folders and command line
- ``loading``: load CTranslate2 and SentencePiece models
- ``native_model``, ``native_map``, ``safetensors``: weights and vocabulary map of the native engine
- ``decoding``: rules of decoding that hold everywhere: the longest output, types
- ``vocabulary_map``: vocabulary maps as CTranslate2 reads them

Measurements:

- ``measurement``: the record of a measurement, as a type (command, which writes its documentation)
- ``described``: the schema and the page made from such a type
- ``selection``, ``comparison``, ``best_model``: find measurements, compare them, choose the best model
- ``wording``, ``disturbance``: measurements in words, and marks of disturbed ones
- ``experiments``: names and settings that experiments share with their tables
- ``bleu``: sacreBLEU's BLEU with the tokenizer of a language
- ``comet``: a checkpoint of COMET, the program that scores with it, its scores
- ``spread``: the median, lowest and highest value of several runs
- ``front``: the Pareto front of speed and quality
- ``cost``, ``prices``: what a translation costs, what machines cost
"""
