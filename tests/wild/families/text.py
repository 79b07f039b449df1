"""Encoders of text."""
import torch
from families.config import model
from network import Network

OPEN = {"input_ids": {0: "batch", 1: "length"}, "attention_mask": {0: "batch", 1: "length"}}


def tokens(length=12, batch=2, masked=True, limit=96):
    """Token ids and, with `masked`, a mask whose second row ends early."""
    ids = torch.randint(3, limit, (batch, length))
    if not masked:
        return {"input_ids": ids}
    mask = torch.ones(batch, length, dtype=torch.int64)
    if batch > 1:
        mask[1, length - 3:] = 0
    return {"input_ids": ids, "attention_mask": mask}


ROWS = {
    "bert": ("Bert", "Model", {}), "bert_mlm": ("Bert", "ForMaskedLM", {}), "bert_qa": ("Bert", "ForQuestionAnswering", {}), "roberta": ("Roberta", "ForSequenceClassification", {}),
    "albert": ("Albert", "ForMaskedLM", {}), "distilbert": ("DistilBert", "ForTokenClassification", {}), "electra": ("Electra", "ForPreTraining", {}),
    "deberta": ("Deberta", "Model", dict(relative_attention=True, pos_att_type=["c2p", "p2c"], max_relative_positions=16)),
    "deberta_v2": ("DebertaV2", "ForSequenceClassification", dict(relative_attention=True, pos_att_type=["c2p", "p2c"], position_buckets=8, share_att_key=True, norm_rel_ebd="layer_norm", conv_kernel_size=3)),
    "mpnet": ("MPNet", "Model", {}), "xlnet": ("XLNet", "Model", {}), "funnel": ("Funnel", "Model", dict(block_sizes=[1, 1], num_decoder_layers=1)), "fnet": ("FNet", "Model", dict(use_tpu_fourier_optimizations=False)),
    "squeezebert": ("SqueezeBert", "Model", dict(embedding_size=32)), "mobilebert": ("MobileBert", "Model", dict(intra_bottleneck_size=16, true_hidden_size=16)), "convbert": ("ConvBert", "Model", dict(head_ratio=2, conv_kernel_size=3)),
    "nystromformer": ("Nystromformer", "Model", dict(segment_means_seq_len=12, max_position_embeddings=64, conv_kernel_size=3, num_landmarks=4)), "big_bird": ("BigBird", "Model", dict(attention_type="original_full")),
    "longformer": ("Longformer", "Model", dict(attention_window=4)), "roformer": ("RoFormer", "Model", {}), "ernie": ("Ernie", "Model", {}), "rembert": ("RemBert", "Model", dict(input_embedding_size=16, output_embedding_size=16)),
    "megatron_bert": ("MegatronBert", "Model", {}), "camembert": ("Camembert", "Model", {}), "modernbert": ("ModernBert", "ForMaskedLM", dict(local_attention=6)), "nomic_bert": ("NomicBert", "Model", {}), "eurobert": ("EuroBert", "Model", {}),
    "flaubert": ("Flaubert", "Model", {}), "xlm": ("XLM", "Model", {}), "canine": ("Canine", "Model", dict(num_hash_buckets=16, local_transformer_stride=4, upsampling_kernel_size=2)), "ibert": ("IBert", "Model", {}), "splinter": ("Splinter", "Model", {}),
    "data2vec_text": ("Data2VecText", "Model", {}), "xmod": ("Xmod", "Model", dict(default_language="en_XX")), "esm": ("Esm", "Model", dict(position_embedding_type="rotary", mask_token_id=4, vocab_size=96, pad_token_id=0)), "roberta_prelayernorm": ("RobertaPreLayerNorm", "Model", {}),
    "yoso": ("Yoso", "Model", dict(use_expectation=True)), "luke": ("Luke", "Model", dict(entity_vocab_size=8, entity_emb_size=16)), "markuplm": ("MarkupLM", "Model", dict(max_depth=4)), "lilt": ("Lilt", "Model", dict(channel_shrink_ratio=2, hidden_size=48)), "layoutlm": ("LayoutLM", "Model", {}),
    "t5_encoder": ("T5", "EncoderModel", {}), "gte": ("Gte", "Model", {}), "bert_sdpa": ("Bert", "Model", dict(attention="sdpa")), "roberta_sdpa": ("Roberta", "Model", dict(attention="sdpa")),
}


def networks():
    for name, (stem, head, words) in ROWS.items():
        length = 16 if name == "canine" else 12
        yield Network("hf_" + name, lambda name=name, stem=stem, head=head, words=words, length=length: (model(stem, head, **dict(words)), tokens(length, masked=name != "nystromformer")),
                      dynamic={} if name in ("nystromformer", "longformer", "canine", "funnel") else OPEN)
