# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes tests/fixtures/torch: files as torch.save writes them, and what must be read from them as safetensors."""
import collections
import pathlib

import torch
from safetensors.torch import save_file

here = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "torch"
here.mkdir(parents=True, exist_ok=True)
torch.manual_seed(7)


def numbers(*shape):
    return torch.randn(*shape)


base = numbers(6, 4)
state = collections.OrderedDict()
state["f32"] = numbers(3, 5)
state["f16"] = numbers(4).half()
state["bf16"] = numbers(2, 3).bfloat16()
state["f64"] = numbers(3).double()
state["i64"] = torch.tensor([1, -2, 2**40])
state["i32"] = torch.tensor([-5, 6], dtype=torch.int32)
state["i16"] = torch.tensor([300, -300], dtype=torch.int16)
state["i8"] = torch.tensor([-128, 127], dtype=torch.int8)
state["u8"] = torch.tensor([0, 255], dtype=torch.uint8)
state["flag"] = torch.tensor([True, False, True])
state["scalar"] = torch.tensor(2.5)
state["empty"] = torch.zeros(0, 3)
state["whole"] = base
state["transposed"] = base.t()  # shares the storage of "whole"
state["slice"] = base[2:4]
state["strided"] = base[1::2, ::3]
state["expanded"] = torch.tensor([[1.0], [2.0]]).expand(2, 3)
state["permuted"] = numbers(2, 3, 4).permute(2, 0, 1)
state["parameter"] = torch.nn.Parameter(numbers(2, 2))
state._metadata = collections.OrderedDict({"": {"version": 1}})
torch.save(state, here / "types.bin")
save_file({name: tensor.detach().contiguous().clone() for name, tensor in state.items()}, here / "types.safetensors")

torch.save({"epoch": 3, "loss": 0.25, "name": "run", "steps": [1, 2], "state_dict": state}, here / "nested.pt", pickle_protocol=4)
small = {"w": numbers(2)}
torch.save(small, here / "legacy.bin", _use_new_zipfile_serialization=False)
torch.save(state, here / "legacy-types.bin", _use_new_zipfile_serialization=False)
torch.save({"w": numbers(4).to(torch.float8_e4m3fn)}, here / "fp8.bin")
torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), here / "script.pt")
