"""CTranslate2's converters from other toolkits: which options are paths, which toolkits need a Python of their own."""

PATH_OPTIONS = ("model_path", "data_dir", "vocab_paths", "model_dir", "user_dir")

# For each toolkit that is not installed with the project, the commands that make an environment in which it is, in the
# folder {0}. fairseq does not import on Python 3.11.
ENVIRONMENTS = {
    "fairseq": (
        "python3.10 -m venv {0} && {0}/bin/pip install fairseq==0.12.2 torch==1.13.1 torchaudio==0.13.1 'numpy<1.24' "
        "ctranslate2==4.8.5"
    ),
    "transformers": (
        "python3 -m venv {0} && {0}/bin/pip install transformers==5.24.0 torch==2.14.1 sentencepiece ctranslate2==4.8.5"
    ),
}
