"""Teachers, n-best lists, rescoring, selection, mixtures.

The commands, in the order in which a study runs them:

- ``translate``: a teacher, or several token by token, translates a shard into n-best lists
- ``ask``: a language model behind HTTP translates a shard into n-best lists
- ``rescore``: an ensemble merges the lists of all teachers, and every teacher scores every hypothesis
- ``select``: choose one hypothesis per sentence as the target that students learn, by BLEU or by minimum Bayes risk
- ``words``: what a teacher holds most probable at each piece of the targets of an epoch, in shards
- ``gather_words``: join these shards for a training
- ``back_translation``: pairs of a backward teacher's translations, with noise and a tag if asked
- ``drop``: leave the worst pairs out of a mixture

What they share:

- ``settings``: what decides on the translations of teachers, as a rule writes it
- ``n_best_lists``: the format of n-best lists; as a command, it writes the best hypotheses as text
- ``parts``: output in parts, so that a job that was killed continues after the last whole one
- ``http_teacher``: a language model behind HTTP: requests, checks, kept answers, budget
- ``teacher``: a model that translates text and scores translations
- ``teacher_engines``: its engine, the native one or CTranslate2
- ``tokenization``: how teachers split text into pieces
"""
