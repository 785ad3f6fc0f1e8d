"""Text around a model: stages that hide what the model should not see, and restore it in the translation.

- ``stage``: what a stage is, and how stages translate lines together
- ``markup``: tags are put around what is aligned with their content; ``tags`` finds the places
- ``sentences``: paragraphs are divided into sentences
- ``protection``: text that must come through as it is, behind symbols
- ``capitals``: lines in capitals, translated without them
- ``alignment``: what a translation aligns with its text; words of the source for unknown pieces
"""
