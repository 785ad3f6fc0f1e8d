"""Vocabulary map, model folders, packages, submissions, images.

From aligned pairs to a vocabulary map:

- ``phrases``: count the phrase pairs of one shard, in compiled loops (command)
- ``sorted_counts``: count more keys than fit in memory
- ``phrase_table``: the counts of all shards (command)
- ``vocabulary_map``: knobs of a map, write maps, explain what one does to a sentence (command)
- ``map_entries``: which target pieces each n-gram brings, compiled
- ``model_outputs``: a model's translations without a map (command)
- ``coverage``: choose a map from a grid (command)
- ``shortlist``: Marian's lexical shortlist (command)

From checkpoints to model folders:

- ``convert``: OpenNMT-tf checkpoints to CTranslate2 (command)
- ``opennmt_tf_run``: runs of OpenNMT-tf for ``nmt-frontier import``
- ``native``: CTranslate2's models to the native engine (command)
- ``read_opennmt_tf``: a reader of models for it
- ``opennmt_tf_recurrent``: the layers of OpenNMT-tf's recurrent models
- ``marian``: Marian models to Marian, the native engine and CTranslate2 (command)
- ``import_teacher``: teachers that were trained elsewhere (command)
- ``settings``: what decides on the import of one of another toolkit, as a study writes it
- ``untrained``: models with random weights (command)
- ``shape_option``: their shape, by name or as JSON
- ``untrained_marian``: Marian's models with random weights (command)
- ``lengths``: random weights of Transformers whose translations have the right length
- ``recurrent_lengths``: such weights of recurrent models
- ``quantization``: what rounding does to each layer (command)
- ``model_folder``: self-contained, movable model folders (command)
- ``package``: a model folder as one archive (command)
- ``foreign_package``: one of another program, as Argos Translate's

For the shared tasks on efficient translation, and for clusters:

- ``submission``: a folder with a model and what decodes it (command)
- ``translate_command``: the native engine as one static program
- ``image``: a submission as an image, with the sizes of its layers (command)
"""
