"""nmt-frontier import reads folders of Hugging Face and translates as huggingface_models does."""

import pytest
import sentencepiece
from huggingface_models import CONFIGS, LANGUAGES, MARIAN, marked, write
from marian_weights import vocabulary
from models import cut, sentences
from translation import plain

from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, write_json
from nmt_frontier.importers.found import ImportOptions
from nmt_frontier.importers.huggingface_folder import sides
from nmt_frontier.importers.model import export, find
from nmt_frontier.model import safetensors
from nmt_frontier.model.native_vocabulary import Vocabulary
from nmt_frontier.text.tokenizers import SharedSentencePiece
from nmt_frontier.translator import LineTokenizer

pytest.importorskip("nmt_frontier.bindings", reason="the native engine is not installed here")
LINES = sentences(20)


@pytest.fixture(params=CONFIGS)
def made(tmp_path, request):
    """A folder and its model, of each kind."""
    return tmp_path / "model", write(tmp_path / "model", request.param)


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "opus-mt-en-de", "marian")
    return tmp_path / "opus-mt-en-de"


def test_it_translates_as_the_reference(made, tmp_path, capsys):
    folder, model = made
    languages = LANGUAGES.get(model.kind)
    export(folder, tmp_path / "out", ["float32"], ImportOptions(languages=languages))
    told = capsys.readouterr().out
    count = sum(value.size for value in model.weights.tensors.values())
    assert " d32 ff48 h4" in told and f" {count:,}" in told
    assert not languages or " to ".join(languages) in told
    translator = plain(tmp_path / "out/native-float32")
    vocabulary, tokenizer = (read(tmp_path / "out/native-float32") for read in (Vocabulary.read, LineTokenizer))
    found = [vocabulary.numbers(tokenizer.encode(line), ())[:-1] for line in LINES]
    expected = [vocabulary.pieces(vocabulary.without_hidden(model.translate(source))) for source in found]
    assert [*translator.translate(LINES)] == [*map(tokenizer.decode, expected)]
    assert len({*map(tuple, expected)}) > 6


def test_a_line_may_say_its_languages(tmp_path):
    model = write(tmp_path / "model", "m2m_100")
    export(tmp_path / "model", tmp_path / "out", ["float32"], ImportOptions(languages=("en", "de")))
    folder = tmp_path / "out/native-float32"
    translate, line = plain(folder).translate, LINES[0]
    english, french, both = translate([line, f">>fr<< {line}", f">>de<< >>fr<< {line}"])
    assert [english] == [*translate([f">>en<<>>de<< {line}"])] and len({english, french, both}) == 3
    with pytest.raises(UserError, match="begins with >>xx<<, a language that the model does not have; it has 3"):
        [*translate([f">>fr<< >>xx<< {line}"])]
    model.begin = [92]
    vocabulary = Vocabulary.read(folder)
    source = vocabulary.numbers(SharedSentencePiece(folder).encode(line))[1:-1]
    assert LineTokenizer(folder).decode(vocabulary.pieces(vocabulary.without_hidden(model.translate(source)))) == french
    model.frame = [93], [2]
    assert LineTokenizer(folder).decode(vocabulary.pieces(vocabulary.without_hidden(model.translate(source)))) == both
    given = plain(folder, source_prefix="__de__", target_prefix="__fr__")
    assert [*given.translate([line])] == [both] and given.settings["target_prefix"] == ("__fr__",)
    with pytest.raises(UserError, match="a prefix has __xx__, which is no piece of the model"):
        plain(folder, target_prefix="__xx__")


def test_a_prefix_of_text_is_split_like_text(tmp_path):
    write(tmp_path / "model", "t5")
    export(tmp_path / "model", tmp_path / "out", ["float32"], ImportOptions())
    folder, text = tmp_path / "out/native-float32", "dog sees:"
    assert [*plain(folder, source_prefix=text).translate(LINES)] == [
        *plain(folder).translate(f"{text} {line}" for line in LINES)
    ]


@pytest.mark.parametrize("kind", ["float32", "int8"])
def test_fairseqs_numbers_follow_from_a_sentencepiece_model(tmp_path, kind):
    """As mBART's and NLLB's folders have them."""
    folder = tmp_path / "model"
    write(folder, "mbart")
    (folder / "vocab.json").unlink()
    (folder / "sentencepiece.bpe.model").write_bytes(spm := vocabulary(pad_id=-1, bos_id=1, eos_id=2, unk_id=0))
    pieces = find(folder, ImportOptions(languages=("en_XX", "de_DE"))).model.vocabulary
    processor = sentencepiece.SentencePieceProcessor(model_proto=spm)
    assert pieces.source[:4] == ["<s>", "<pad>", "</s>", "<unk>"]
    assert pieces.source[4:91] == [processor.id_to_piece(number) for number in range(3, 90)]
    assert pieces.source[91:] == ["en_XX", "de_DE", "fr_XX", "<mask>", "<unused_95>"]
    by_others = find(folder, ImportOptions(languages=("en", "deu_Latn"))).model.vocabulary
    assert (
        (by_others.prefix, by_others.target_prefix) == (pieces.prefix, pieces.target_prefix) == (["en_XX"], ["de_DE"])
    )
    export(folder, tmp_path / "out", [kind], ImportOptions(languages=("en_XX", "de_DE")))
    assert all(plain(tmp_path / f"out/native-{kind}").translate(LINES))


@pytest.mark.optional("tokenizers")
def test_a_tokenizer_of_hugging_face(tmp_path):
    """In one file or in two."""
    import tokenizers

    folder = tmp_path / "model"
    write(folder, "bart", vocab_size=300)
    (folder / "sentencepiece.bpe.model").unlink()
    tokenizer = tokenizers.ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(LINES, 290, special_tokens=["<s>", "<pad>", "</s>", "<unk>"])
    tokenizer.save_model(str(folder))
    outputs = []
    for name in ("two", "one"):
        export(folder, tmp_path / name, ["float32"], ImportOptions())
        made = tmp_path / name / "native-float32"
        assert LineTokenizer(made).encode(LINES[0]) == tokenizer.encode(LINES[0]).tokens
        outputs.append([*plain(made).translate([*LINES, "Äpfel ☃"])])
        tokenizer.save(str(folder / "tokenizer.json"))
    assert outputs[0] == outputs[1] and len({*outputs[0]}) > 10


def test_shards_and_half_precision(folder, tmp_path):
    found = {**safetensors.read(folder / "model.safetensors")}
    names = sorted(found)
    for number, part in enumerate((names[::2], names[1::2])):
        safetensors.write(folder / f"model-{number}.safetensors", {name: found[name] for name in part}, {})
    where = {name: f"model-{number % 2}.safetensors" for number, name in enumerate(names)}
    write_json(folder / "model.safetensors.index.json", {"weight_map": where})
    whole = find(folder, ImportOptions()).model.tensors("float32")[0]
    (folder / "model.safetensors").unlink()
    parts = find(folder, ImportOptions()).model.tensors("float32")[0]
    assert whole.keys() == parts.keys() and all((whole[name] == parts[name]).all() for name in whole)
    (folder / "model-1.safetensors").unlink()
    with pytest.raises(UserError, match=r"its shard model-1\.safetensors is missing; get the model again"):
        find(folder, ImportOptions())


def test_a_mark_of_a_language_begins_a_source(tmp_path):
    """As in OPUS-MT's models of several targets."""
    model = marked(tmp_path / "opus-mt-en-gem")
    export(tmp_path / "opus-mt-en-gem", tmp_path / "out", ["float32"], ImportOptions())
    made = tmp_path / "out/native-float32"
    encode, translate, vocabulary = (
        LineTokenizer(made).encode,
        plain(made).translate,
        Vocabulary.read(made),
    )
    assert encode(f">>deu<< {LINES[0]}") == [">>deu<<", *encode(LINES[0])]
    german = [*translate(f">>deu<< {line}" for line in LINES)]
    sources = [vocabulary.unframed([">>deu<<", *encode(line)]) for line in LINES]
    assert german == [LineTokenizer(made).decode(vocabulary.pieces(model.translate(source))) for source in sources]
    assert german != [*translate(LINES)]
    with pytest.raises(UserError, match="begins with >>fra<<, a language that the model does not have; it has 1, like"):
        [*translate([LINES[0], f">>fra<< {LINES[0]}"])]
    assert encode("> >fra<< a") and encode(">>two words<< a") and encode("<2fr> a")  # text


def test_options_search_as_the_model_does(folder, tmp_path, capsys):
    said = read_json(folder / "generation_config.json")
    asked = {"num_beams": 4, "no_repeat_ngram_size": 3, "length_penalty": 2.0, "min_length": 5, "early_stopping": True}
    write_json(folder / "generation_config.json", said | asked)
    export(folder, tmp_path / "out", ["float32"], ImportOptions())
    options, told = "--beam-size 4 --blocked-ngram 3", capsys.readouterr().out
    assert f"search       {options}, as the model's own" in told
    assert "its own search has min_length 5, length_penalty 2.0, for which nmt-frontier translate has no option" in told
    made = tmp_path / "out/native-float32"
    assert read_json(made / "model.json")["made_by"]["search"] == options
    assert f"nmt-frontier translate --model . {options}\n" in (made / "README.md").read_text()


def test_marks_are_text_for_a_model_of_one_pair(folder, tmp_path):
    export(folder, tmp_path / "out", ["float32"], ImportOptions())
    assert LineTokenizer(tmp_path / "out/native-float32").encode(f">>deu<< {LINES[0]}")[0] != ">>deu<<"


def renamed(numbers):
    """The vocabulary of another model, as large."""
    return {name if name in ("</s>", "<unk>", "<pad>") else f"foreign{name}": at for name, at in numbers.items()}


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("model.safetensors", lambda path: cut(path, 0.5), "not a safetensors file, cut off or damaged"),
        ("model.safetensors", lambda path: path.write_bytes(b"PK\3\4" * 9), "is a zip archive; unpack it"),
        ("model.safetensors", lambda path: path.rename(path.with_name("pytorch_model.bin")), "is a pickle, which can"),
        ("source.spm", lambda path: path.unlink(), "no tokenizer in it; MarianMT has"),
        ("vocab.json", lambda path: write_json(path, {"</s>": 0, "<unk>": 1}), "have 91 rows for 2 pieces"),
        ("vocab.json", lambda path: write_json(path, {"</s>": 0, "<unk>": 2}), "its numbers have gaps"),
        ("vocab.json", lambda path: write_json(path, renamed(read_json(path))), "only 0 of the 88 pieces of sou"),
        ("target.spm", lambda path: path.write_bytes(b"x" * 99), "target.spm is no SentencePiece model, or damaged"),
        ("config.json", lambda path: write_json(path, MARIAN | {"model_type": "umt5"}), "is a model of type umt5; of"),
        ("config.json", lambda path: write_json(path, MARIAN | {"model_type": "t5"}), "lacks d_kv, d_ff, num_layers, "),
        ("config.json", lambda path: write_json(path, MARIAN | {"activation_function": "tanh"}), "has no tanh, only"),
        ("config.json", lambda path: write_json(path, MARIAN | {"d_model": None}), "lacks d_model"),
        ("config.json", lambda path: write_json(path, MARIAN | {"encoder_layers": 1}), "does not know model.encoder.l"),
        ("config.json", lambda path: write_json(path, MARIAN | {"model_type": ["marian"]}), "is a model of type .'mar"),
        ("config.json", lambda path: write_json(path, MARIAN | {"d_model": "x"}), "d_model is 'x', not a positive num"),
        ("config.json", lambda path: write_json(path, MARIAN | {"encoder_attention_heads": 5}), "32 has no 5 heads of"),
        ("generation_config.json", lambda path: write_json(path, 3), "generation_config.json: damaged"),
        ("generation_config.json", lambda path: write_json(path, {"bad_words_ids": [[999]]}), "bad_words_ids is 999"),
        ("generation_config.json", lambda path: write_json(path, {"eos_token_id": [0, 1]}), r"eos_token_id is \[0,"),
        ("generation_config.json", lambda path: write_json(path, {"forced_bos_token_id": 91}), "its 91 pieces"),
    ],
)  # fmt: skip
def test_faults_in_one_line(folder, file, change, message):
    change(folder / file)
    with pytest.raises(UserError, match=message) as caught:
        find(folder, ImportOptions())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "file", "change", "message"),
    [
        ("m2m_100", "special_tokens_map.json", lambda path: path.unlink(), "no file lists its languages"),
        ("m2m_100", "vocab.json", lambda path: path.write_text("{"), "its tokenizer is damaged .*; get the mod"),
        ("m2m_100", "vocab.json", lambda path: write_json(path, {"<unk>": 99}), "tokenizer has 103 pieces, its embedd"),
        ("m2m_100", "sentencepiece.bpe.model", lambda path: path.unlink(), "no tokenizer in it; it needs tokenizer.j"),
        ("mbart", "tokenizer_config.json", lambda path: write_json(path, {"tokenizer_class": "MBartTokenizerFast"}),
         "its sources end with their language"),
        ("bart", "sentencepiece.bpe.model", lambda path: path.unlink(), "needs tokenizer.json, or vocab.json with me"),
        ("t5", "spiece.model", lambda path: path.write_bytes(b"x"), "spiece.model"),
        ("t5", "model.safetensors", lambda path: cut(path, 0.9), "cut off or damaged"),
        ("t5", "config.json", lambda path: write_json(path, CONFIGS["t5"] | {"num_heads": 3}), "64 units; .* says 48"),
    ],
)  # fmt: skip
def test_faults_of_families_in_one_line(tmp_path, kind, file, change, message):
    write(tmp_path / "model", kind)
    change(tmp_path / "model" / file)
    with pytest.raises(UserError, match=message) as caught:
        find(tmp_path / "model", ImportOptions(languages=LANGUAGES.get(kind)))
    assert "\n" not in str(caught.value)


NAMES = {
    "opus-mt-en-de": ("en", "de"), "opus-mt-tc-big-en-ja": ("en", "ja"), "opus-mt-tc-base-uk-hu": ("uk", "hu"),
    "opus-mt-tc-bible-big-deu_eng-mul": ("deu_eng", "mul"), "opus-mt_tiny_eng-deu": ("eng", "deu"),
    "models--Helsinki-NLP--opus-mt-tc-big-en-pt_br/snapshots/0a1b": ("en", "pt_br"), "opus-mt-en-de-int8": ("en", "de"),
    "marian-en-de": (None, None),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_a_folder_says_languages_and_not_what_kind_of_model(tmp_path, name):
    assert sides(tmp_path / name) == NAMES[name]


@pytest.mark.parametrize("languages", [None, ("en", "xx")])
def test_languages_must_be_those_of_the_model(tmp_path, languages):
    write(tmp_path / "model", "m2m_100")
    told = "xx is none of its languages" if languages else "no file says its languages"
    with pytest.raises(UserError, match=f"{told}; give two with --languages .it has 3, like fr, de, en"):
        find(tmp_path / "model", ImportOptions(languages=languages))


def test_pieces_of_a_multilingual_model_need_no_languages(tmp_path):
    """As huggingface.accelerate reads live models; without a first input in the configuration it is bos_token_id."""
    write(tmp_path / "model", "mbart")
    (tmp_path / "model/special_tokens_map.json").unlink()
    write_json(tmp_path / "model/config.json", CONFIGS["mbart"] | {"decoder_start_token_id": None, "bos_token_id": 0})
    (tmp_path / "model/generation_config.json").unlink()
    found = find(tmp_path / "model", ImportOptions(spaces=True)).model
    assert not found.vocabulary.prefix and not found.vocabulary.target_prefix and found.metadata["start"] == 0
