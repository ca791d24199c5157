"""The starter GGUF as mlx-lm and tokenizers understand it: config, float32 weights, tokenizer, chat template.

The weights are dequantised with the arithmetic of our engine: scales and biases widened to float32, then
mx.dequantize. Rows of q and k are re-ordered, because mlx-lm rotates halves where a GGUF rotates neighbours; no value
changes.
"""

import mlx.core as mx
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

CONTROL_TOKEN = 3  # tokenizer.ggml.token_type of <|im_start|> and its like
GROUP_SIZE = 32

LAYER_NAMES = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}
OUTER_NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm"}


class StarterGguf:
    def __init__(self, path):
        self.tensors, self.metadata = mx.load(str(path), return_metadata=True)

    def number(self, key):
        return self.metadata[key].item()

    def config(self):
        return {
            "model_type": "llama",
            "architectures": ["LlamaForCausalLM"],
            "hidden_size": self.number("llama.embedding_length"),
            "num_hidden_layers": self.number("llama.block_count"),
            "intermediate_size": self.number("llama.feed_forward_length"),
            "num_attention_heads": self.number("llama.attention.head_count"),
            "num_key_value_heads": self.number("llama.attention.head_count_kv"),
            "rms_norm_eps": self.number("llama.attention.layer_norm_rms_epsilon"),
            "vocab_size": len(self.metadata["tokenizer.ggml.tokens"]),
            "rope_theta": self.number("llama.rope.freq_base"),
            "max_position_embeddings": self.number("llama.context_length"),
            "tie_word_embeddings": True,
            "bos_token_id": self.number("tokenizer.ggml.bos_token_id"),
            "eos_token_id": self.number("tokenizer.ggml.eos_token_id"),
            "torch_dtype": "float32",
        }

    def float32_weights(self):
        stems = [name.removesuffix(".weight") for name in self.tensors if name.endswith(".weight")]
        return {self._mlx_lm_name(stem) + ".weight": self._float32(stem) for stem in stems}

    def _float32(self, stem):
        weight = self.tensors[stem + ".weight"]
        if stem + ".scales" in self.tensors:
            scales = self.tensors[stem + ".scales"].astype(mx.float32)
            biases = self.tensors[stem + ".biases"].astype(mx.float32)
            bits = weight.shape[-1] * 32 // (scales.shape[-1] * GROUP_SIZE)
            weight = mx.dequantize(weight, scales, biases, group_size=GROUP_SIZE, bits=bits)
        weight = weight.astype(mx.float32)
        leaf = stem.split(".")[-1]
        if leaf == "attn_q":
            return halves_from_neighbours(weight, self.number("llama.attention.head_count"))
        if leaf == "attn_k":
            return halves_from_neighbours(weight, self.number("llama.attention.head_count_kv"))
        return weight

    @staticmethod
    def _mlx_lm_name(stem):
        if not stem.startswith("blk."):
            return OUTER_NAMES[stem]
        _, layer, leaf = stem.split(".")
        return f"model.layers.{layer}.{LAYER_NAMES[leaf]}"

    def tokenizer(self):
        tokens = self.metadata["tokenizer.ggml.tokens"]
        merges = [tuple(merge.split(" ")) for merge in self.metadata["tokenizer.ggml.merges"]]
        tokenizer = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
            ]
        )
        tokenizer.decoder = decoders.ByteLevel()
        types = self.metadata["tokenizer.ggml.token_type"].tolist()
        tokenizer.add_special_tokens(
            [AddedToken(t, special=True, normalized=False) for t, kind in zip(tokens, types) if kind == CONTROL_TOKEN]
        )
        return tokenizer

    def tokenizer_config(self):
        tokens = self.metadata["tokenizer.ggml.tokens"]
        return {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": tokens[self.number("tokenizer.ggml.bos_token_id")],
            "eos_token": tokens[self.number("tokenizer.ggml.eos_token_id")],
            "chat_template": self.metadata["tokenizer.chat_template"],
            "model_max_length": self.number("llama.context_length"),
        }


def halves_from_neighbours(weight, heads):
    """Rows of each head from (pair, half) order to (half, pair) order."""
    half = weight.shape[0] // heads // 2
    return weight.reshape(heads, half, 2, -1).swapaxes(1, 2).reshape(weight.shape)
