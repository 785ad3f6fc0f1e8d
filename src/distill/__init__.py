"""Teachers, n-best lists, rescoring, selection, mixtures.

The commands, in the order in which a study runs them:

- ``translate``: a teacher, or several token by token, translates a shard into n-best lists
- ``ask``: a language model behind HTTP translates a shard into n-best lists
- ``rescore``: an ensemble merges the lists of all teachers, and every teacher scores every hypothesis
- ``score``: a program of another environment, such as COMET's, scores the hypotheses of a shard
- ``select``: choose the targets that students learn, one hypothesis of each sentence or several
- ``words``: what a teacher holds most probable at each piece of the targets of an epoch, in shards
- ``gather_words``: join these shards for a training
- ``back_translation``: pairs of a backward teacher's translations, with noise and a tag if asked
- ``drop``: leave the worst pairs out of a mixture

What they share:

- ``settings``: what decides on the translations of teachers, as a rule writes it
- ``n_best_lists``: the format of n-best lists; as a command, it writes the best hypotheses as text
- ``least_risk``: minimum Bayes risk, by sentence BLEU or chrF
- ``ngrams``: the n-grams that texts share, compiled
- ``parts``: output in parts, so that a job that was killed continues after the last whole one
- ``http_teacher``: a language model behind HTTP: requests, checks, kept answers, budget
- ``teacher``: a model that translates text and scores translations
- ``teacher_engines``: its engine, the native one or CTranslate2
- ``tokenization``: how teachers split text into pieces
"""
