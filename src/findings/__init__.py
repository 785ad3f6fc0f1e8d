"""What measurements say: comparisons, the best model, costs, and the words and scores that all of them share.

- ``comparison``: find and compare measurements; the Pareto front of speed and quality
- ``altered_text``: text in title case, without its final mark, with two: of training data and test sets
- ``best_model``: the best model of a study
- ``captions``: measurements in words, and marks of disturbed ones
- ``cost``: the costs of translations, and prices of machines (``prices.yaml``)
- ``loops``: what a model says over and over
- ``survival``: whether what must be copied is in a translation
- ``metrics``: sacreBLEU's BLEU with the tokenizer of a language; COMET's checkpoint, program and scores
"""
