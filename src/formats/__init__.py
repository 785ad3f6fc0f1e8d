"""Files: records, batches, shapes, model folders, maps, measurements.

Text:

- ``records``: pairs as compressed TSV in shards; test sets, and translations of them
- ``batches``: records as columns of bytes, for compiled loops
- ``word_probabilities``: what a teacher holds probable at each piece, as a line of text

Models:

- ``learning``: how a model was trained, and what it learned from
- ``shape``: layers and units of a model, and its number of parameters
- ``model_description``: the Python files from which OpenNMT-tf builds models
- ``ctranslate2_products``: how CTranslate2 multiplies integers on this CPU
- ``ctranslate2_loading``: load its models with the types that this machine computes
- ``conversion``: models of OpenNMT-tf to CTranslate2's format
- ``opennmt_tf``: OpenNMT-tf's checkpoints and vocabulary files
- ``marian``: Marian's model folders and command line

Measurements:

- ``decoding_options``: how a model folder is decoded, in tasks, names, records and signatures
- ``measurement``: the record of a measurement, and names that experiments share with their tables; ``spread``: of runs
- ``flat_record``: how such a record lies in JSON, CSV and a table
- ``measurement_page``: its page and its JSON schema in docs/ (command)
- ``counts``: what cleaning a corpus dropped
- ``rounding``: what a model loses in fewer bits
- ``gap``: how students compare with their teacher and with one another
- ``robustness``: how systems translate what people write
- ``experiments``: the JSON of experiments that are timed in one process
- ``schema_from_dataclass``: JSON schema and table of described fields
"""
