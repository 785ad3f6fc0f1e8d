"""A model folder and text in, translations out: engines, pipeline, command.

- ``translate``: translate text, line by line, into a file that a killed translation continues (command)
- ``translator``: a model folder that translates: engine, tokenizer and pipeline together, and the options of commands
  for it
- ``engines``: the engines, one class in one module each, behind one interface
- ``pipeline``: windows and batches; reading, decoding and writing overlap
- ``tuned``: the fastest settings of a model folder on this machine
- ``batching``: batches of sentences of like length, and their results back in order
"""
