"""A new study from files: `python -m study.new` reads them and writes a configuration.

- ``files``: find texts among files
- ``pairing``: the two sides of each by their names, and text of one language
- ``naming``: what a name says of language, side and role
- ``contents``: format, language and columns of a file, by its first lines; ``encodings``: a guess of its encoding
- ``look``: counts, lengths, duplicates and languages of the texts; missing dev and test sets from them
- ``scores``: columns, properties and files of numbers that seem to be scores
- ``sizes``: shapes, steps and vocabulary for the text, the machine and the time
- ``text``: the configuration with its comments; ``models``: that of its systems; ``draft``: what both are made of
"""
