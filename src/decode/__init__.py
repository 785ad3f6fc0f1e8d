"""A model folder and text in, translations out: engines, pipeline, command.

- ``translate``: translate text line by line, resumably (command)
- ``translator``: engine, tokenizer and pipeline of a model folder, and the options of commands that decode
- ``rich_text``: markup, paragraphs, unknown words; with ``markup``, which places tags, and ``sentences``, the splitter
- ``engines``: the engines, one class in one module each, behind one interface
- ``pipeline``: windows and batches; reading, decoding and writing overlap
- ``protection``: text that must come through as it is, hidden behind symbols while a model translates
- ``capitals``: lines in capitals, translated without them
- ``tuned``: the fastest settings of a model folder on this machine
- ``batching``: batches of sentences of similar length; results in the order of the input
"""
