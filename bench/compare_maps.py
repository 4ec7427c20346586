#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""t-SNE and UMAP of openTSNE, scikit-learn and umap-learn over points of the same kind as those of `headlight_bench
map` (60 clusters with a curved part, 5,000 points of width 64), on one thread.

    python bench/compare_maps.py

Times are processor time, so that other work on the machine counts little.
"""
import os
import time
import warnings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"
import numpy as np
import openTSNE
import umap
from sklearn.manifold import TSNE

warnings.filterwarnings("ignore")
rng = np.random.default_rng(1)
x = (rng.normal(size=(60, 64)) * 2)[rng.integers(0, 60, 5000)] + rng.normal(size=(5000, 64)) * 0.7
along = rng.normal(size=5000) * 3
x[:, 0] += along
x[:, 1] += along**2 / 4
x = x.astype(np.float32)


def seconds(name, work):
    begin = time.process_time()
    work()
    print(f"{name:36s} {time.process_time() - begin:8.2f} s", flush=True)


for method in ("bh", "fft"):
    seconds(
        f"openTSNE, {method}",
        lambda: openTSNE.TSNE(perplexity=30, n_jobs=1, negative_gradient_method=method, neighbors="exact", random_state=0).fit(x),
    )
umap.UMAP(init="pca", n_jobs=1, random_state=0).fit(x)  # compiles
seconds("umap-learn, warm", lambda: umap.UMAP(init="pca", n_jobs=1, random_state=0).fit(x))
seconds("scikit-learn", lambda: TSNE(perplexity=30, n_jobs=1, init="pca", max_iter=750, random_state=0).fit(x))
