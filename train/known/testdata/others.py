"""CartPole-v1 by the libraries whose settings package known takes, on one thread.

others.py zoo STEPS SEED trains PPO of Stable-Baselines3 with the settings of RL
Baselines3 Zoo, others.py cleanrl STEPS SEED runs CleanRL's ppo.py as it is. It
prints the mean of the last 100 returns of training and the seconds that
training took, by the clock and of the processor, as JSON. README.md says what
to install.
"""
import contextlib
import io
import json
import os
import re
import resource
import sys
import tempfile
import time

import torch

torch.set_num_threads(1)


def processor():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def zoo(steps, seed):
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    environments = make_vec_env("CartPole-v1", n_envs=8, seed=seed)
    model = PPO(
        "MlpPolicy", environments, n_steps=32, batch_size=256, gae_lambda=0.8, gamma=0.98, n_epochs=20, ent_coef=0.0,
        learning_rate=lambda left: 0.001 * left, clip_range=lambda left: 0.2 * left, seed=seed, device="cpu",
    )
    model.learn(steps)
    return [episode["r"] for episode in model.ep_info_buffer]


def cleanrl(steps, seed):
    import runpy

    sys.argv = ["ppo.py", "--total-timesteps", str(steps), "--seed", str(seed), "--cuda", "false"]
    out = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out):
        os.chdir(folder)
        runpy.run_module("cleanrl.ppo", run_name="__main__")
        os.chdir("/")
    return [float(x) for x in re.findall(r"episodic_return=([\d.]+)", out.getvalue())]


run, steps, seed = {"zoo": zoo, "cleanrl": cleanrl}[sys.argv[1]], int(sys.argv[2]), int(sys.argv[3])
clock, before = time.perf_counter(), processor()
returns = run(steps, seed)[-100:]
print(json.dumps({"return": sum(returns) / len(returns), "clock": time.perf_counter() - clock, "processor": processor() - before}))
