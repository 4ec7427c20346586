# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes tests/golden/corpus/edge.json: edge probing's classifier of mixed layers by PyTorch (tests/corpus/probe/mix_edge_test.cpp).

Run from the repository's root with PyTorch. States and weights are fractional parts of multiples of irrational numbers, which the test
makes the same way. For one span and for pairs: the loss of each example, the gradient of their mean, the weights after three steps of
Adam without dropout.
"""
import json
import math

import torch
from torch import nn

LAYERS, WIDTH, HIDDEN, CLASSES = 3, 4, 5, 3
ROWS = 9
FIRST = [(0, 2), (2, 3), (1, 4), (6, 9)]
SECOND = [(4, 5), (0, 3), (7, 9), (5, 7)]
LABELS = [0, 2, 1, 2]


def numbers(count, root):
    return [2 * ((i + 1) * math.sqrt(root) % 1) - 1 for i in range(count)]


class Edge(nn.Module):
    def __init__(self, pairs):
        super().__init__()
        spans = 2 if pairs else 1
        self.scalars, self.gamma = nn.Parameter(torch.zeros(LAYERS)), nn.Parameter(torch.ones(1))
        self.project = nn.ModuleList(nn.Linear(WIDTH, HIDDEN) for _ in range(spans))
        self.score = nn.ModuleList(nn.Linear(HIDDEN, 1, bias=False) for _ in range(spans))
        self.hidden = nn.Sequential(nn.Linear(spans * HIDDEN, HIDDEN), nn.Tanh(), nn.LayerNorm(HIDDEN))
        self.out = nn.Linear(HIDDEN, CLASSES)

    def in_order(self):
        yield from (self.scalars, self.gamma)
        for project, score in zip(self.project, self.score):
            yield from (project.weight, project.bias, score.weight)
        yield from (self.hidden[0].weight, self.hidden[0].bias, self.hidden[2].weight, self.hidden[2].bias)
        yield from (self.out.weight, self.out.bias)

    def forward(self, layers, spans):
        mixture = self.gamma * sum(w * x for w, x in zip(self.scalars.softmax(0), layers))
        parts = []
        for project, score, of in zip(self.project, self.score, spans):
            rows = []
            for begin, end in of:
                tokens = project(mixture[begin:end])
                rows.append(score(tokens)[:, 0].softmax(0) @ tokens)
            parts.append(torch.stack(rows))
        return self.out(self.hidden(torch.cat(parts, 1)))


def flat(tensors):
    return torch.cat([t.detach().reshape(-1) for t in tensors]).tolist()


torch.set_default_dtype(torch.float64)
out = {}
layers = [torch.tensor(numbers(ROWS * WIDTH, root)).float().double().reshape(ROWS, WIDTH) for root in (2, 3, 5)]
layers = [(x - x.mean(0)) / x.std(0, unbiased=False) for x in layers]
target = nn.functional.one_hot(torch.tensor(LABELS), CLASSES).double()
for name, spans in (("spans", [FIRST]), ("pairs", [FIRST, SECOND])):
    model = Edge(len(spans) == 2)
    start = iter(numbers(sum(p.numel() for p in model.parameters()), 7))
    with torch.no_grad():
        for p in model.in_order():
            p.copy_(torch.tensor([next(start) for _ in range(p.numel())]).float().double().reshape(p.shape))
    adam = torch.optim.Adam(model.in_order(), lr=0.01)
    for step in range(3):
        adam.zero_grad()
        losses = nn.functional.binary_cross_entropy_with_logits(model(layers, spans), target, reduction="none").sum(1)
        losses.mean().backward()
        if step == 0:
            out[name] = {"losses": losses.tolist(), "gradient": flat(p.grad for p in model.in_order())}
        adam.step()
    out[name]["weights"] = flat(model.in_order())
    out[name]["predicted"] = model(layers, spans).argmax(1).tolist()
with open("tests/golden/corpus/edge.json", "w") as file:
    json.dump(out, file)
print(out["pairs"]["losses"], len(out["pairs"]["weights"]), out["pairs"]["predicted"])
