"""What is text: how a model's pieces make up a line, and stages that hide from a model what it should not see.

- ``encodings``: text in any encoding, with any line ends, as lines of UTF-8
- ``tokenizers``: how a model folder splits text into pieces; ``numbered``: these as a native model's numbers
- ``items``: text that a translation must have as it is, and the symbols that stand for it
- ``options``: the options of text
- ``stage``: what a stage is, and how stages translate lines together
- ``markup``: tags are put around what is aligned with their content; ``tags`` finds the places
- ``sentences``: paragraphs are divided into sentences
- ``protection``: text that must come through as it is, behind symbols
- ``capitals``: lines in capitals, translated without them
- ``surfaces``: what SentencePiece's pieces are in a text
- ``alignment``: what a translation aligns with its text; ``attention``: what the engine's attention says of that
"""
