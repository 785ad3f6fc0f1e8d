"""What is on disk.

- ``model_folder``: a model folder and its ``model.json``
- ``native_weights``, ``native_vocabulary`` and ``native_map``: the files of the native engine
- ``native_quantization`` and ``native_packing``: how its weights become integers, and panels
- ``native_files``: their names and limits
- ``safetensors``: safetensors files that are mapped into memory; ``safetensors_header``: what they say of themselves
- ``vocabulary_map``: vocabulary maps as CTranslate2 reads them
- ``shape_text``: the shape of a model in words
"""
