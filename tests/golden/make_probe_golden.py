# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes tests/golden/corpus/probe.json: the optimum of a linear probe by scikit-learn (tests/corpus/probe/linear_probe_test.cpp).

Run from the repository's root with scikit-learn and NumPy. The data are fractional parts of multiples of irrational numbers, which
the test makes the same way.
"""
import json

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

PENALTY = 0.01


def fraction(x):
    return x - np.floor(x)


i = np.arange(60)
states = np.zeros((60, 5), np.float32)
for f in range(4):
    states[:, f] = 3 * fraction((i + 1) * np.sqrt(2 + f)) + f
states[:, 4] = states[:, 0] + states[:, 1]
labels = (states[:, 0] + np.float32(0.7) * states[:, 1] > np.float32(2.6)).astype(int) + (fraction(i * 0.37) > 0.6)

scaled = StandardScaler().fit_transform(states.astype(np.float64))
model = LogisticRegression(C=1 / (PENALTY * len(i)), tol=1e-10, max_iter=100_000).fit(scaled, labels)
p = model.predict_proba(scaled)
objective = -np.mean(np.log(p[i, labels])) + PENALTY / 2 * np.sum(model.coef_**2)
with open("tests/golden/corpus/probe.json", "w") as out:
    json.dump({"penalty": PENALTY, "labels": labels.tolist(), "objective": objective, "probabilities": p.round(12).tolist()}, out)
print(np.bincount(labels), objective)
