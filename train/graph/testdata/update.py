"""The network of models/nn and one update of PPO on it in PyTorch, one thread.

update.py DIRECTORY reads a batch that a test has written there (shapes.json and
arrays), writes the gradient of the mean loss over the whole of it to grad.f32,
then makes updates for some seconds and prints their rounds per second of CPU
time as JSON. YARDMASTER_PYTHON names a Python that has torch and numpy.
"""
import json
import os
import sys
import time

import numpy
import torch

torch.set_num_threads(1)
torch.set_num_interop_threads(1)

directory = sys.argv[1]
with open(os.path.join(directory, "shapes.json")) as file:
    shapes = json.load(file)
rounds, rows = shapes["rounds"], shapes["rows"]


def read(name, shape, kind=numpy.float32):
    return torch.from_numpy(numpy.fromfile(os.path.join(directory, name), dtype=kind).reshape(shape))


candidates = read("candidates.f32", (rounds, rows, shapes["candidate"]))
features = read("global.f32", (rounds, shapes["global"]))
mask = read("mask.u8", (rounds, rows), numpy.uint8).bool()
actions = read("actions.i64", (rounds,), numpy.int64)
log_probs, advantages, targets = (read(name + ".f32", (rounds,)) for name in ("log_probs", "advantages", "targets"))
flat = read("params.f32", (-1,))

parameters = {}
for tensor in shapes["tensors"]:
    size = int(numpy.prod(tensor["shape"]))
    parameters[tensor["name"]] = torch.nn.Parameter(flat[:size].reshape(tensor["shape"]).clone())
    flat = flat[size:]
critic = [p for name, p in parameters.items() if name.startswith("value.")]
policy = [p for name, p in parameters.items() if not name.startswith("value.")]


def network(x, g, legal):
    """Scores [B, N] and values [B]."""
    p = parameters
    linear = torch.nn.functional.linear
    share = legal.to(x.dtype)
    share = (share / share.sum(1, keepdim=True)).unsqueeze(1)  # [B, 1, N]: the mean over the legal candidates is a product
    u = linear(g, p["score.global.weight"], p["score.global.bias"])
    h1 = torch.relu(linear(x, p["score.candidate.weight"]) + u.unsqueeze(1))
    context = linear(torch.bmm(share, h1).squeeze(1), p["score.context.weight"], p["score.context.bias"])
    h2 = torch.relu(linear(h1, p["score.hidden.weight"]) + context.unsqueeze(1))
    scores = (linear(h2, p["score.output.weight"]) + linear(x, p["score.linear.weight"])).squeeze(2)
    mean = torch.bmm(share, x).squeeze(1)
    hidden = torch.relu(linear(mean, p["value.candidate.weight"]) + linear(g, p["value.global.weight"], p["value.global.bias"]))
    return scores, linear(hidden, p["value.output.weight"], p["value.output.bias"]).squeeze(1)


def loss(index):
    scores, values = network(candidates[index], features[index], mask[index])
    all_log_probs = torch.log_softmax(scores.masked_fill(~mask[index], -1e9), dim=1)
    log_prob = all_log_probs.gather(1, actions[index].unsqueeze(1)).squeeze(1)
    entropy = -(all_log_probs.exp() * all_log_probs).sum(1)
    ratio = (log_prob - log_probs[index]).exp()
    clipped = ratio.clamp(1 - shapes["clip"], 1 + shapes["clip"])
    gain = torch.min(ratio * advantages[index], clipped * advantages[index])
    miss = values - targets[index]
    return (-gain - shapes["entropy"] * entropy + miss * miss / 2).mean()


loss(torch.arange(rounds)).backward()
numpy.concatenate([p.grad.numpy().ravel() for p in parameters.values()]).tofile(os.path.join(directory, "grad.f32"))

optimizer = torch.optim.Adam([{"params": policy, "lr": shapes["rate"]}, {"params": critic, "lr": shapes["critic_rate"]}], eps=1e-5)


def update():
    for index in torch.randperm(rounds).split(shapes["minibatch"]):
        optimizer.zero_grad(set_to_none=True)
        loss(index).backward()
        torch.nn.utils.clip_grad_norm_(policy, 0.5)
        torch.nn.utils.clip_grad_norm_(critic, 0.5)
        optimizer.step()


update()
best = float("inf")
end = time.monotonic() + shapes["seconds"]
while time.monotonic() < end:
    start = time.process_time()
    update()
    best = min(best, time.process_time() - start)
print(json.dumps({"torch": torch.__version__, "rounds_per_second": rounds / best}))
