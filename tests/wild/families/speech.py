"""Sound: waves and spectra in, states, characters and waves out."""
import torch
from families.config import model
from network import Network

CONV = dict(conv_dim=[16, 16, 16], conv_kernel=[10, 3, 3], conv_stride=[5, 2, 2], num_feat_extract_layers=3, num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4)


def wave(length=800, name="input_values"):
    return {name: torch.randn(1, length)}


def spectrum(frames=32, bins=16, name="input_features", swap=False):
    return {name: torch.randn(1, bins, frames) if swap else torch.randn(1, frames, bins)}


def ids(length=5):
    return {"decoder_input_ids": torch.randint(3, 96, (1, length)), "decoder_attention_mask": torch.ones(1, length, dtype=torch.int64)}


def networks():
    def row(name, stem, head, inputs, **words):
        return Network("hf_" + name, lambda: (model(stem, head, **dict(words)), inputs()))
    open_wave = {"input_values": {0: "batch", 1: "samples"}}
    for name, stem, head, words in (("wav2vec2", "Wav2Vec2", "ForCTC", {}), ("wav2vec2_layer_norm", "Wav2Vec2", "Model", dict(feat_extract_norm="layer", do_stable_layer_norm=True)), ("hubert", "Hubert", "ForCTC", {}), ("wavlm", "WavLM", "Model", {}), ("unispeech", "UniSpeech", "Model", {}),
                                    ("unispeech_sat", "UniSpeechSat", "Model", {}), ("sew", "SEW", "Model", dict(squeeze_factor=2)), ("sew_d", "SEWD", "Model", dict(squeeze_factor=2, max_position_embeddings=32, position_buckets=16)), ("data2vec_audio", "Data2VecAudio", "Model", dict(conv_pos_kernel_size=5, num_conv_pos_embeddings=2)),
                                    ("wav2vec2_conformer", "Wav2Vec2Conformer", "Model", dict(conv_depthwise_kernel_size=5))):
        yield Network("hf_" + name, lambda stem=stem, head=head, words=words: (model(stem, head, **{**CONV, **words}), wave()), dynamic={} if "sew" in name else open_wave)
    yield row("whisper", "Whisper", "ForConditionalGeneration", lambda: {**spectrum(40, 16, swap=True), **ids()}, num_mel_bins=16, max_source_positions=20, max_target_positions=24)
    yield row("whisper_encoder", "Whisper", "ForAudioClassification", lambda: spectrum(40, 16, swap=True), num_mel_bins=16, max_source_positions=20, classifier_proj_size=16)
    yield row("speech_to_text", "Speech2Text", "ForConditionalGeneration", lambda: {**spectrum(), **ids()}, input_feat_per_channel=16, conv_channels=16, max_source_positions=40, max_target_positions=24)
    yield row("audio_spectrogram", "AST", "ForAudioClassification", lambda: spectrum(32, 16, "input_values"), max_length=32, num_mel_bins=16, patch_size=8, frequency_stride=4, time_stride=4)
    yield row("moonshine", "Moonshine", "ForConditionalGeneration", lambda: {**wave(2000), **ids()}, encoder_num_hidden_layers=2, decoder_num_hidden_layers=2, encoder_num_attention_heads=4, decoder_num_attention_heads=4, encoder_num_key_value_heads=4, decoder_num_key_value_heads=4)
    yield row("wav2vec2_bert", "Wav2Vec2Bert", "Model", lambda: spectrum(), feature_projection_input_dim=16, conv_depthwise_kernel_size=5)
    yield row("parakeet", "Parakeet", "ForCTC", lambda: spectrum(64, 16), config="ParakeetCTCConfig", encoder_config=dict(num_mel_bins=16, subsampling_conv_channels=8))
    yield row("encodec", "Encodec", "Model", lambda: {"input_values": torch.randn(1, 1, 640)}, num_filters=4, upsampling_ratios=[4, 2], codebook_size=16, codebook_dim=16, hidden_size=16, num_lstm_layers=1, target_bandwidths=[24.0], sampling_rate=8000)
    yield row("dac", "Dac", "Model", lambda: {"input_values": torch.randn(1, 1, 512)}, encoder_hidden_size=8, downsampling_ratios=[2, 4], decoder_hidden_size=16, upsampling_ratios=[4, 2], codebook_size=16, codebook_dim=4, n_codebooks=2, hidden_size=32)
    yield row("univnet", "UnivNet", "Model", lambda: {"input_features": torch.randn(1, 6, 8), "noise_sequence": torch.randn(1, 6, 8)}, model_in_channels=8, model_hidden_channels=8, num_mel_bins=8, resblock_kernel_sizes=[3, 3], resblock_stride_sizes=[4, 4], resblock_dilation_sizes=[[1, 3], [1, 3]], kernel_predictor_hidden_channels=8, kernel_predictor_num_blocks=1)
    yield Network("hf_hifigan", hifigan)
    yield Network("hf_vits", vits, quantise=False)


def hifigan():
    import transformers
    config = transformers.SpeechT5HifiGanConfig(model_in_dim=8, upsample_initial_channel=16, upsample_rates=[4, 2], upsample_kernel_sizes=[8, 4], resblock_kernel_sizes=[3, 5], resblock_dilation_sizes=[[1, 3], [1, 3]])
    return transformers.SpeechT5HifiGan(config), {"spectrogram": torch.randn(2, 6, 8)}


def vits():
    return model("Vits", "Model", flow_size=16, spectrogram_bins=9, upsample_initial_channel=16, upsample_rates=[4, 2], upsample_kernel_sizes=[8, 4], resblock_kernel_sizes=[3], resblock_dilation_sizes=[[1, 3]], noise_scale=0.0, noise_scale_duration=0.0,
                 prior_encoder_num_flows=2, posterior_encoder_num_wavenet_layers=2, prior_encoder_num_wavenet_layers=2, use_stochastic_duration_prediction=False), {"input_ids": torch.randint(3, 30, (1, 6))}
