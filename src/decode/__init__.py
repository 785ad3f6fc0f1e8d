"""A model folder and text in, translations out: engines, pipeline, command.

- ``translate``: translate text line by line, resumably (command)
- ``translator``: engine, tokenizer, stages and pipeline of a model folder, and the options of commands that decode
- ``text``: stages around the model: markup, sentences, protected text, capitals; and the options of text
- ``engines``: the engines, one class in one module each, behind one interface
- ``pipeline``: windows and batches; reading, decoding and writing overlap
- ``tuned``: the fastest settings of a model folder on this machine
- ``batching``: batches of sentences of similar length; results in the order of the input
"""
