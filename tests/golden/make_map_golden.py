#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes tests/golden/map.npz: what scikit-learn, openTSNE and umap-learn give for the points of tests/map.

Needs scikit-learn, openTSNE and umap-learn (requirements.txt): python tests/golden/make_map_golden.py
"""
import pathlib
import warnings

import numpy as np
import openTSNE
import umap
from openTSNE import _tsne
from openTSNE.tsne import kl_divergence_bh
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE, trustworthiness
from umap.umap_ import compute_membership_strengths, find_ab_params, smooth_knn_dist

warnings.filterwarnings("ignore")
COUNT, WIDTH, PERPLEXITY, NEIGHBOURS = 180, 8, 12, 15

rng = np.random.default_rng(17)
centres = rng.normal(size=(3, WIDTH)) * 2
x = np.concatenate([c + rng.normal(size=(COUNT // 3, WIDTH)) * 0.6 for c in centres])
x[:60, 0] += np.linspace(-2, 2, 60)  # one cluster is a band
x = np.round(x, 4).astype(np.float32)
wide = x.astype(np.float64)
out = {"x": x}


def lists(distances, k):
    """The nearest k others, ties by index."""
    index = np.argsort(distances + np.diag([np.inf] * len(distances)), axis=1, kind="stable")[:, :k]
    return index.astype(np.int32), np.take_along_axis(distances, index, axis=1)


euclid = np.sqrt(((wide[:, None] - wide[None]) ** 2).sum(-1))
unit = wide / np.linalg.norm(wide, axis=1, keepdims=True)
cosine = 1 - unit @ unit.T
k = 3 * PERPLEXITY
index, distance = lists(euclid, k)
out["index"], out["distance"] = index, distance.astype(np.float32)
out["cosine_index"] = lists(cosine, NEIGHBOURS)[0]

# PCA
pca = PCA(3).fit(wide)
out["pca"] = pca.transform(wide).astype(np.float32)
out["explained"] = pca.explained_variance_ratio_

# t-SNE
p = np.asarray(_tsne.compute_gaussian_perplexity(distance, np.array([PERPLEXITY], float), num_threads=1))
out["p"] = p.astype(np.float32)
joint = sparse.csr_matrix((p.ravel(), index.ravel(), np.arange(0, COUNT * k + 1, k)), shape=(COUNT, COUNT))
joint = (joint + joint.T) / (2 * COUNT)
start = np.round(out["pca"][:, :2] / out["pca"][:, 0].std() * 1e-4, 9).astype(np.float32)
out["start"] = start
# Spread out: openTSNE's tree takes points nearer than 1e-6 for one, even with theta 0.
spread = (start * np.float32(1e4)).astype(np.float64)
_, gradient = kl_divergence_bh(spread, joint.copy(), 1, {"theta": 0})
out["gradient"] = 4 * np.asarray(gradient)


class Joint:
    P = joint.copy()


def embedding(points):
    return openTSNE.TSNEEmbedding(points.astype(np.float64), Joint(), negative_gradient_method="bh", theta=0, n_jobs=1)


for steps in (1, 10):
    y = embedding(spread)
    y.optimize(steps, exaggeration=12, learning_rate=COUNT / 12, momentum=0.8, inplace=True)
    out[f"after_{steps}"] = np.asarray(y)
y = embedding(start)
y.optimize(250, exaggeration=12, learning_rate=COUNT / 12, momentum=0.8, inplace=True)
y.optimize(500, learning_rate=COUNT, momentum=0.8, inplace=True)
exact = TSNE(perplexity=PERPLEXITY, method="exact", init=start, learning_rate=COUNT / 4 / 12, max_iter=750).fit(x)
out["divergence"] = np.array([y.kl_divergence, exact.kl_divergence_])
out["tsne_trustworthiness"] = np.array(
    [trustworthiness(wide, np.asarray(y), n_neighbors=NEIGHBOURS), trustworthiness(wide, exact.embedding_, n_neighbors=NEIGHBOURS)]
)

# UMAP
near_index = np.concatenate([np.arange(COUNT)[:, None], index[:, : NEIGHBOURS - 1]], axis=1).astype(np.int32)
near = np.concatenate([np.zeros((COUNT, 1)), distance[:, : NEIGHBOURS - 1]], axis=1).astype(np.float32)
sigma, rho = smooth_knn_dist(near, float(NEIGHBOURS))
rows, columns, values, _ = compute_membership_strengths(near_index, near, sigma, rho)
out["sigma"], out["rho"] = sigma, rho
out["strength"] = values.reshape(COUNT, NEIGHBOURS)[:, 1:]
a = sparse.coo_matrix((values, (rows, columns)), shape=(COUNT, COUNT)).toarray()
out["fuzzy"] = (a + a.T - a * a.T).astype(np.float32)
out["curves"] = np.array([find_ab_params(1, d) for d in (0, 0.1, 0.5)])
scores = []
for seed in range(5):
    fitted = umap.UMAP(n_neighbors=NEIGHBOURS, init="pca", random_state=seed, n_jobs=1).fit_transform(wide)
    scores.append(trustworthiness(wide, fitted, n_neighbors=NEIGHBOURS))
out["umap_trustworthiness"] = np.array([np.mean(scores)])

# Quality of a picture that is not perfect.
out["pca_trustworthiness"] = np.array([trustworthiness(wide, out["pca"][:, :2], n_neighbors=NEIGHBOURS)])
out["pca_continuity"] = np.array([trustworthiness(out["pca"][:, :2], wide, n_neighbors=NEIGHBOURS)])

np.savez_compressed(pathlib.Path(__file__).with_name("map.npz"), **out)
for name in ("divergence", "tsne_trustworthiness", "umap_trustworthiness", "pca_trustworthiness", "pca_continuity", "curves"):
    print(name, out[name])
