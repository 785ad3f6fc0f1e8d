"""A language model behind HTTP as a teacher.

- ``prompt``: the request for a text, as it is sent, and the key by which its answer is kept
- ``server``: one request to the server, with the retries of urllib3
- ``checks``: whether an answer is a translation
- ``kept``: the file of answers, from which a study is reproduced
- ``counts``: what the answers of a shard were
- ``budget``: what may be spent, checked before each request
- ``teacher``: the n-best list of a text, from kept and from new answers
"""
