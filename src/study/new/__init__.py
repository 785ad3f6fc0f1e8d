"""A new study from nothing but files: `python -m study.new` looks at them and writes a configuration.

- ``files``: which files are text, and the corpora among them
- ``file_names``, ``contents``: what their names and their first lines say: language, role, format
- ``pairs``: which files are the two sides of a text
- ``look``: what is in them: counts, lengths, duplicates, languages
- ``held_out``: dev and test sets, where there are none
- ``sizes``: shapes, steps and vocabulary for the text, the machine and the time
- ``text``: the configuration with its comments
- ``__main__``: the command
"""
