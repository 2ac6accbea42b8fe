# SPDX-License-Identifier: BSD-3-Clause
"""transformers, peft and safetensors on the NPU."""

import pytest
import torch


class Rows(torch.utils.data.Dataset):
    """Token rows that follow a rule, so that a model can learn them."""

    def __len__(self):
        return 64

    def __getitem__(self, index):
        ids = (torch.arange(16) + index) % 60 + 3
        return {"input_ids": ids, "labels": ids}


def trained(model, tmp_path, **options):
    from transformers import Trainer, TrainingArguments

    arguments = TrainingArguments(
        output_dir=str(tmp_path), max_steps=20, per_device_train_batch_size=8, learning_rate=5e-3, logging_steps=1, report_to=[],
        save_strategy="no", disable_tqdm=True, seed=1, **options,
    )  # fmt: skip
    trainer = Trainer(model=model, args=arguments, train_dataset=Rows())
    trainer.train()
    return trainer, [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def test_trainer_takes_the_npu_and_learns_as_on_the_cpu(tiny_gpt, tmp_path):
    trainer, losses = trained(tiny_gpt(), tmp_path)
    assert trainer.args.device.type == "npu" and next(trainer.model.parameters()).is_npu
    _, expected = trained(tiny_gpt(), tmp_path, use_cpu=True)
    assert len(losses) == 20 and losses == pytest.approx(expected, rel=2e-2, abs=2e-2)
    assert losses[-1] < losses[0] - 1


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_trainer_in_half_precision(tiny_gpt, tmp_path, precision):
    _, losses = trained(tiny_gpt(), tmp_path, **{precision: True})
    assert losses[-1] < losses[0] - 1


def test_trainer_saves_and_resumes(tiny_gpt, tmp_path):
    from transformers import GPT2LMHeadModel

    trainer, _ = trained(tiny_gpt(), tmp_path)
    trainer.save_model(str(tmp_path / "saved"))
    again = GPT2LMHeadModel.from_pretrained(tmp_path / "saved", device_map="npu:0")
    assert again.device.type == "npu"
    for name, value in trainer.model.state_dict().items():
        assert value.equal(again.state_dict()[name]), name


@pytest.mark.parametrize(
    "options", [{}, {"num_beams": 3}, {"use_cache": False}, {"repetition_penalty": 1.2, "no_repeat_ngram_size": 2}]
)
def test_generate_equals_the_cpus(tiny_gpt, options):
    ids = torch.tensor([[3, 9, 27, 41]])
    texts = []
    for device in ("cpu", "npu"):
        model = tiny_gpt().to(device).eval()
        mask = torch.ones_like(ids).to(device)
        texts.append(
            model.generate(ids.to(device), attention_mask=mask, max_new_tokens=12, pad_token_id=0, do_sample=False, **options)
        )
    assert texts[1].is_npu and texts[1].cpu().equal(texts[0])


def test_sampling_repeats_by_seed(tiny_gpt):
    model = tiny_gpt().npu().eval()
    ids = torch.tensor([[3, 9, 27, 41]], device="npu")
    texts = []
    for _ in range(2):
        torch.manual_seed(5)
        texts.append(
            model.generate(
                ids, attention_mask=torch.ones_like(ids), max_new_tokens=8, do_sample=True, top_k=10, top_p=0.9, pad_token_id=0
            )
        )
    assert texts[0].equal(texts[1])


def test_the_cache_changes_no_logits(tiny_gpt):
    model = tiny_gpt().npu().eval()
    ids = torch.tensor([[3, 9, 27, 41, 5, 6]], device="npu")
    with torch.no_grad():
        whole = model(ids).logits
        start = model(ids[:, :4], use_cache=True)
        rest = model(ids[:, 4:], past_key_values=start.past_key_values, use_cache=True)
    assert start.past_key_values.get_seq_length() == 6
    torch.testing.assert_close(torch.cat([start.logits, rest.logits], 1), whole, rtol=1e-4, atol=1e-5)


def tokenizer(tmp_path):
    """A word tokenizer made here."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {word: k for k, word in enumerate(["[PAD]", "[BOS]", "[EOS]", "[UNK]", *(f"w{k}" for k in range(60))])}
    made = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="[PAD]", bos_token="[BOS]", eos_token="[EOS]", unk_token="[UNK]"
    )


def test_pipelines(tiny_gpt, tmp_path):
    from transformers import BertConfig, BertForSequenceClassification, pipeline

    words = tokenizer(tmp_path)
    answers = []
    for device in ("cpu", "npu"):
        write = pipeline("text-generation", model=tiny_gpt(), tokenizer=words, device=device)
        assert write.device.type == device
        answers.append(write("w3 w5 w7", max_new_tokens=6, do_sample=False)[0]["generated_text"])
    assert answers[0] == answers[1]
    torch.manual_seed(0)
    shape = dict(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, num_labels=3)
    bert = BertForSequenceClassification(BertConfig(**shape)).eval()
    scores = []
    for device in ("cpu", "npu:0"):
        judge = pipeline("text-classification", model=bert, tokenizer=words, device=device)
        scores.append(judge(["w1 w2 w3", "w4"], batch_size=2))
    for a, b in zip(*scores, strict=True):
        assert a["label"] == b["label"] and a["score"] == pytest.approx(b["score"], rel=1e-4)


def test_lora_trains_only_its_own_weights(tiny_gpt, tmp_path):
    from peft import LoraConfig, PeftModel, get_peft_model

    model = get_peft_model(
        tiny_gpt(), LoraConfig(task_type="CAUSAL_LM", r=4, lora_alpha=8, target_modules=["c_attn"], fan_in_fan_out=True)
    )
    base = {name: value.clone() for name, value in model.named_parameters() if "lora" not in name}
    trainer, losses = trained(model, tmp_path)
    assert losses[-1] < losses[0] and all(p.is_npu for p in model.parameters())
    assert all(value.equal(dict(model.named_parameters())[name].cpu()) for name, value in base.items())
    model.save_pretrained(tmp_path / "lora")
    again = PeftModel.from_pretrained(tiny_gpt().npu(), tmp_path / "lora", torch_device="npu").eval()
    ids = torch.arange(3, 13, device="npu")[None]
    with torch.no_grad():
        torch.testing.assert_close(again(ids).logits, model.eval()(ids).logits)
        merged = again.merge_and_unload()
        torch.testing.assert_close(merged(ids).logits, model(ids).logits, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("device", ["npu", "npu:0", torch.device("npu", 0)])
def test_safetensors_load_onto_the_npu(tmp_path, device):
    from safetensors import safe_open
    from safetensors.torch import load_file, save_file

    values = {"a": torch.arange(6.0).view(2, 3), "b": torch.ones(3, dtype=torch.bfloat16), "c": torch.tensor([1, 2])}
    save_file({name: value.npu() for name, value in values.items()}, tmp_path / "file.safetensors")
    if isinstance(device, str):
        loaded = load_file(tmp_path / "file.safetensors", device=device)
        with safe_open(tmp_path / "file.safetensors", framework="pt", device=device) as file:
            assert file.get_tensor("a").is_npu and file.get_slice("a")[:, 1:].tolist() == [[1, 2], [4, 5]]
    else:
        loaded = load_file(tmp_path / "file.safetensors", device=str(device))
    for name, value in values.items():
        assert loaded[name].is_npu and loaded[name].cpu().equal(value)
