// SPDX-License-Identifier: GPL-3.0-or-later
// Model types that transformers knows and this program does not compute, by reason (tests/model/families/model_types_test.cpp).
#include "model/families/registry.h"

#include <algorithm>

namespace headlight::model {
namespace {

struct Reason {
    std::string_view why;
    std::string_view types;  ///< with spaces between them
};
// clang-format off
constexpr Reason kReasons[] = {
    {"Its layers are not all softmax attention: state updates, linear attention and short convolutions are not computed",
     "bailing_hybrid bamba falcon_h1 falcon_mamba fnet granitemoe_swa granitemoehybrid hrm_text jamba kimi_linear lfm2 "
     "lfm2_moe lfm2_vl lfm3 lfm3_vl lfm3_vl_vision mamba minimax nemotron_h nemotron_h_omni olmo_hybrid qwen3_5 "
     "qwen3_5_moe qwen3_5_moe_text qwen3_5_moe_vision qwen3_5_text qwen3_5_vision qwen3_next qwen4_exp qwen4_exp_text "
     "qwen4_exp_vision recurrent_gemma rwkv xlstm zamba zamba2"},
    {"It reads or writes sound, which is not read",
     "audio-spectrogram-transformer audioflamingo3 audioflamingo3_encoder bark canary canary_decoder clap clap_audio_model "
     "clap_text_model clvp clvp_decoder clvp_encoder cohere_asr csm csm_depth_decoder_model dac data2vec-audio dia "
     "dia_decoder dia_encoder dots3_note_audio_encoder encodec fastspeech2_conformer fastspeech2_conformer_hifigan "
     "fastspeech2_conformer_with_hifigan fun_asr_nano fun_asr_nano_encoder gemma3n_audio gemma4_audio gemma4_unified_audio "
     "glmasr glmasr_encoder gradium_phonon_tts granite_speech granite_speech5_ctc granite_speech5_encoder "
     "granite_speech_encoder granite_speech_plus granite_speech_plus_encoder higgs_audio_v2 higgs_audio_v2_tokenizer hubert "
     "inkling_audio inkling_mm_model kyutai_speech_to_text lasr_ctc lasr_encoder mimi mimi_decoder mimi_encoder moonshine "
     "moonshine_streaming moonshine_streaming_encoder moshi moshi_depth moss_transcribe_diarize "
     "moss_transcribe_diarize_audio muse_spark_audio musicflamingo musicgen musicgen_decoder musicgen_melody "
     "musicgen_melody_decoder nemo_speechlm nemotron3_5_asr nemotron3_5_transcribe_asr_audio nemotron3_5_transcribe_audio "
     "nemotron3_5_transcribe_word_timestamp nemotron3_diarization nemotron3_diarization_audio nemotron_asr_streaming "
     "nemotron_asr_streaming_encoder neucodec omniasr omniasr_audio omniasr_ctc parakeet_ctc parakeet_encoder parakeet_rnnt "
     "parakeet_tdt pe_audio pe_audio_encoder pe_audio_video pe_audio_video_encoder pe_video pe_video_encoder "
     "phi4_multimodal_audio pocket_tts pocket_tts_audio_tokenizer pocket_tts_audio_tokenizer_decoder "
     "pocket_tts_audio_tokenizer_encoder pop2piano qwen2_5_omni qwen2_5_omni_audio_encoder qwen2_5_omni_bigvgan "
     "qwen2_5_omni_dit qwen2_5_omni_talker qwen2_5_omni_text qwen2_5_omni_thinker qwen2_5_omni_token2wav "
     "qwen2_5_omni_vision_encoder qwen2_audio qwen2_audio_encoder qwen3_asr qwen3_asr_encoder qwen3_omni_moe "
     "qwen3_omni_moe_audio_encoder qwen3_omni_moe_talker_code_predictor qwen3_omni_moe_talker_text qwen3_omni_moe_text "
     "qwen3_omni_moe_thinker qwen3_omni_moe_vision_encoder seamless_m4t seamless_m4t_v2 sew sew-d speech-encoder-decoder "
     "speech_to_text speecht5 speecht5_hifigan unispeech unispeech-sat univnet vibevoice vibevoice_acoustic_tokenizer "
     "vibevoice_acoustic_tokenizer_decoder vibevoice_acoustic_tokenizer_encoder vibevoice_asr vibevoice_diffusion vits "
     "voxtral voxtral_encoder voxtral_realtime voxtral_realtime_encoder voxtral_realtime_text wav2vec2 wav2vec2-bert "
     "wav2vec2-conformer wavlm wavtokenizer wavtokenizer_encoder whisper xcodec xcodec2"},
    {"It is a model of time series, molecules or other numbers, not of text or pictures",
     "EvollaModel autoformer decision_transformer esmfold2 evolla informer patchtsmixer patchtst pi0 time_series_transformer "
     "timesfm timesfm2_5"},
    {"It is one part of a model of several parts; the whole is opened, where it is supported",
     "aimv2_text_model aimv2_vision_model align_text_model align_vision_model altclip_text_model altclip_vision_model "
     "apertus1p5_text apertus1p5_vision_tokenizer aria_text blip_2_qformer blip_2_vision_model blip_text_model "
     "blip_vision_model blt_global_transformer blt_local_decoder blt_local_encoder blt_patcher bridgetower_text_model "
     "bridgetower_vision_model chameleon_vqgan chinese_clip_text_model chinese_clip_vision_model clipseg_text_model "
     "clipseg_vision_model cohere2_vision cohere_compass_text cohere_compass_vision cosmos3_edge_text cosmos3_edge_vision "
     "deepseek_ocr2_encoder deepseek_ocr2_sam_vision_model deepseek_ocr2_text deepseek_ocr2_vision diffusion_gemma_text "
     "dots3_note_text dots3_note_vision_encoder edgetam_mask_decoder edgetam_prompt_encoder edgetam_video_mask_decoder "
     "edgetam_video_prompt_encoder edgetam_vision_model embedding_gemma2_text emu3_text_model emu3_vqgan "
     "ernie4_5_vl_moe_text ernie4_5_vl_moe_vision exaone4_5_vision flava_image_codebook flava_image_model "
     "flava_multimodal_model flava_text_model florence_vision gemma3n_text gemma3n_vision gemma4_assistant gemma4_text "
     "gemma4_unified_assistant gemma4_unified_text gemma4_unified_vision gemma4_vision git_vision_model glm4v_moe_text "
     "glm4v_moe_vision glm4v_text glm4v_vision glm5_next_text glm5_next_vision glm_image_text glm_image_vision "
     "glm_image_vqmodel glm_ocr_text glm_ocr_vision got_ocr2_vision granite4_vision granite4_vision_text "
     "granite_docling_text granite_docling_vision groupvit_text_model groupvit_vision_model hunyuan_vl_text "
     "hunyuan_vl_vision hy_v4_vl_text hy_v4_vl_vision idefics2_perceiver idefics2_vision idefics3_vision idefics_perciever "
     "idefics_vision inkling2_loop inkling2_loop_text inkling2_text inkling2_vision inkling_text inkling_vision "
     "instructblip_qformer instructblip_vision_model instructblipvideo_qformer instructblipvideo_vision_model "
     "internvl_vision janus_vision_model janus_vqgan kimi_k25_vision kosmos_2_5_text_model kosmos_2_5_vision_model "
     "kosmos_2_text_model kosmos_2_vision_model llama4_vision_model metaclip_2_text_model "
     "metaclip_2_vision_model minicpm_ocr_vision minicpmv4_6_vision minicpmv4_7_vision minimax_m3_vl_text "
     "minimax_m3_vl_vision mistral_large4_text mlcd_vision_model mllama_text_model mllama_vision_model molmo2_adapter "
     "molmo2_text molmo2_vision muse_glimmer_assistant muse_glimmer_text muse_glimmer_vision muse_spark_text "
     "muse_spark_vision ovis2_vision owlv2_text_model owlv2_vision_model owlvit_text_model owlvit_vision_model "
     "paddleocr_vl_text paddleocr_vl_vision phi4_multimodal_vision pix2struct_text_model pix2struct_vision_model "
     "pp_chart2table_vision pp_formulanet_text pp_formulanet_vision qianfan_ocr_vision qwen2_5_vl_text qwen2_5_vl_vision "
     "qwen2_vl_text qwen2_vl_vision qwen3_vl_moe_text qwen3_vl_moe_vision qwen3_vl_text qwen3_vl_vision sam2_hiera_det_model "
     "sam2_mask_decoder sam2_prompt_encoder sam2_video_mask_decoder sam2_video_prompt_encoder sam2_vision_model "
     "sam3_detr_decoder sam3_detr_encoder sam3_geometry_encoder sam3_lite_text sam3_lite_text_detr_decoder "
     "sam3_lite_text_detr_encoder sam3_lite_text_geometry_encoder sam3_lite_text_mask_decoder sam3_lite_text_text_model "
     "sam3_mask_decoder sam3_tracker_mask_decoder sam3_tracker_prompt_encoder sam3_tracker_video_mask_decoder "
     "sam3_tracker_video_prompt_encoder sam3_vision_model sam_hq_mask_decoder sam_hq_prompt_encoder sam_hq_vision_model "
     "sam_mask_decoder sam_prompt_encoder sam_vision_model sapiens2_head siglip2_text_model siglip2_vision_model "
     "siglip_text_model slanext_vision smolvlm_vision step3p5_vision t5_gemma_module t5gemma2_decoder "
     "t5gemma2_encoder t5gemma2_text timm_backbone tipsv2_dpt tipsv2_text_model tipsv2_vision_model "
     "unlimited_ocr_sam_vision_model unlimited_ocr_text unlimited_ocr_vision unlimited_ocr_vision_encoder uvdoc_backbone "
     "video_llama_3_vision videoprism_text_model videoprism_vision_model vitpose_backbone xclip_text_model "
     "xclip_vision_model"},
    {"It reads pictures in another way than ViT, DeiT, CLIP, DINOv2, DINOv3 and SigLIP, which are supported",
     "aimv2 align altclip beit bit blip blip-2 bridgetower chinese_clip chmv2 clipseg colmodernvbert colpali colqwen2 "
     "conditional_detr convnext convnextv2 cvt d_fine dab-detr data2vec-vision deformable_detr deimv2 depth_anything "
     "depth_pro detr dinat dinov3_convnext donut-swin dpt edgetam edgetam_video "
     "efficientloftr efficientnet eomt eomt_dinov3 flava florence2 focalnet git glpn grounding-dino groupvit hgnet_v2 hiera "
     "ijepa imagegpt kosmos-2 kosmos-2.5 layoutlmv2 layoutlmv3 layoutxlm levit lightglue lw_detr lw_detr_vit lxmert "
     "mask2former maskformer maskformer-swin metaclip_2 mgp-str mlcd mm-grounding-dino mobilenet_v1 mobilenet_v2 mobilevit "
     "mobilevitv2 modernvbert nougat omdet-turbo oneformer owlv2 owlvit perceiver pix2struct pixio pixtral poolformer "
     "pp_chart2table pp_doclayout_v2 pp_doclayout_v3 pp_doclayout_v4 pp_formulanet pp_lcnet pp_lcnet_v3 pp_lcnet_v4 "
     "pp_ocrv5_mobile_det pp_ocrv5_mobile_rec pp_ocrv5_server_det pp_ocrv5_server_rec pp_ocrv6_medium_det pp_ocrv6_small_det "
     "pp_ocrv6_small_rec pp_ocrv6_tiny_rec prompt_depth_anything pvt pvt_v2 radio regnet resnet rf_detr rf_detr_dinov2 "
     "rt_detr rt_detr_resnet rt_detr_v2 sam sam2 sam2_video sam3 sam3_tracker sam3_tracker_video sam3_video sam3_vit_model "
     "sam_hq sapiens2 segformer seggpt siglip2 slanet slanext superglue superpoint swiftformer swin swin2sr swinv2 "
     "table-transformer textnet timesformer timm_wrapper tipsv2 trocr tvp udop upernet uvdoc videomae videomt videoprism "
     "vilt vision-text-dual-encoder visual_bert vit_mae vit_msn vitdet vitmatte vitpose vivit vjepa2 xclip yolos zoedepth"},
    {"It is a model of pictures and text whose language model is not checked by itself",
     "apertus1p5 aria chameleon cohere_compass cosmos3_edge cosmos3_omni deepseek_ocr2 deepseek_vl deepseek_vl_hybrid "
     "diffusion_gemma dory dots3_note embedding_gemma2 emu3 ernie4_5_vl_moe exaone4_5 fast_vlm fuyu gemma3n gemma4 "
     "gemma4_unified glm46v glm4v glm4v_moe glm5_next glm_image glm_ocr glmga got_ocr2 granite_docling hunyuan_vl hy_v4_vl "
     "hyperclovax_vision_v2 idefics idefics2 inkling2 instructblip instructblipvideo janus kimi_k25 lara_mini lighton_ocr "
     "llava_next_video minicpm3 minicpm_ocr minicpmv4_6 minicpmv4_7 minimax_m3_vl mistral_large4 mllama molmo2 "
     "muse_glimmer muse_spark neomme ovis2 paddleocr_vl perception_lm phi4_multimodal qianfan_ocr qwen3_vl_moe shieldgemma2 "
     "step3p5 step3p7 t5gemma2 unlimited_ocr video_llama_3 video_llava vipllava vision-encoder-decoder"},
    {"Its tokens attend in a sparse, hashed or factored way that is not computed",
     "big_bird bigbird_pegasus blt canine convbert deepseek_v32 deepseek_v4 diffllama funnel glm_moe_dsa ibert "
     "longt5 mobilebert mra nystromformer pegasus_x reformer squeezebert xlnet yoso"},
    {"Its experts or its latent attention are arranged in a way that is not computed",
     "afmoe axk1 axk2 beam cohere2_moe dbrx dots1 ernie4_5_moe exaone_moe glm4_moe_lite granitemoeshared "
     "hunyuan_v1_moe hy_v3 hy_v4 jetmoe laguna longcat_flash mellum mimo_v2_flash minimax_m2 mistral4 nllb-moe sarvam_mla "
     "sarvam_moe solar_open switch_transformers youtu"},
    {"It is an encoder and a decoder other than T5, BART and Marian",
     "bert-generation blenderbot blenderbot-small encoder-decoder fsmt mvp plbart prophetnet rag t5gemma"},
    {"It is not checked against transformers",
     "biogpt bitnet bros codegen cpmant ctrl cwm doge dpr ernie esmc exaone flaubert flex_olmo flint gpt-sw3 "
     "gpt_neox_japanese granite_swa gte hyperclovax internlm3 iquestcoder jais2 jev jina_embeddings_v3 kolibri1 layoutlm "
     "lilt luke markuplm megatron-bert nanochat openai-gpt openai_privacy_filter persimmon rembert roberta-prelayernorm "
     "roc_bert roformer splinter tapas ultrabert ultravbert vaultgemma xglm xlm xlm-roberta-xl xmod zaya"},
};
// clang-format on

bool lists(std::string_view words, std::string_view word) {
    for (std::size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
        const std::size_t end = at + word.size();
        if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) return true;
    }
    return false;
}

}  // namespace

std::string_view why_unsupported(std::string_view model_type) {
    if (model_type.empty() || model_type.find(' ') != std::string_view::npos) return {};
    const auto found = std::ranges::find_if(kReasons, [&](const Reason& each) { return lists(each.types, model_type); });
    return found == std::end(kReasons) ? std::string_view() : found->why;
}

}  // namespace headlight::model
