"""A model folder and text in, translations out: engines, pipeline, command.

- ``translate``: translate text, line by line (command)
- ``options``: the options of that and of other commands that decode, and the translator they ask for
- ``translator``: a model folder that translates: engine, tokenizer and pipeline together
- ``engines``: the engines, one class in one module each, behind one interface
- ``tokenizer``: the SentencePiece model of a model folder
- ``pipeline``: windows and batches; reading, decoding and writing overlap
- ``tuned``: the fastest settings of a model folder on this machine
- ``resume``: an output file that a killed translation continues
- ``oom_watchdog``: report in one line that the kernel killed a long job
- ``batching``: batches of sentences of like length, and their results back in order
"""
