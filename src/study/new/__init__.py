"""A new study from nothing but files: `python -m study.new` looks at them and writes a configuration.

- ``files``: which files are text, what their names say, and which are the two sides of a text
- ``contents``: what the first lines of a file say: its format, its language
- ``look``: what is in them: counts, lengths, duplicates, languages; dev and test sets, where there are none
- ``sizes``: shapes, steps and vocabulary for the text, the machine and the time
- ``text``: the configuration with its comments
- ``__main__``: the command
"""
