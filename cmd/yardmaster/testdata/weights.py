"""Makes a model in Python from one that `yardmaster model export --format safetensors` wrote.

weights.py FROM TO: TO, a folder that is there, becomes a model that `yardmaster model add TO` takes.
"""

import hashlib
import json
import sys

import numpy as np
from safetensors.numpy import load_file, save_file

source, target = sys.argv[1:]
w = load_file(f"{source}/weights.safetensors")
golden = load_file(f"{source}/golden.safetensors")
with open(f"{source}/manifest.json") as f:
    manifest = json.load(f)

# In place of training.
r = np.random.default_rng(7)
w = {name: (x + 0.1 * r.standard_normal(x.shape)).astype(np.float32) for name, x in w.items()}


def score(g, x, mask):
    """The equations of models/FORMAT.md."""
    h1 = np.maximum(0, x @ w["score.candidate.weight"].T + w["score.global.weight"] @ g + w["score.global.bias"])
    c = h1[mask if mask.any() else ~mask].mean(axis=0)
    h2 = np.maximum(0, h1 @ w["score.hidden.weight"].T + w["score.context.weight"] @ c + w["score.context.bias"])
    return h2 @ w["score.output.weight"][0] + x @ w["score.linear.weight"][0]


# Golden inputs with the scores that Python comes to: Yardmaster refuses the model unless it comes to the same.
for i in range(len(golden) // 4):
    case = f"case.{i:02d}."
    g, x, mask = golden[case + "global"], golden[case + "candidates"], golden[case + "mask"]
    golden[case + "scores"] = score(g, x, mask == 1).astype(np.float32)

save_file(w, f"{target}/weights.safetensors")
save_file(golden, f"{target}/golden.safetensors")
for what in ("weights", "golden"):
    with open(f"{target}/{what}.safetensors", "rb") as f:
        manifest[f"{what}_sha256"] = hashlib.sha256(f.read()).hexdigest()
manifest["provenance"] = {"made_by": "weights.py"}
manifest["metrics"] = {}
with open(f"{target}/manifest.json", "w") as f:
    json.dump(manifest, f, indent=2)
