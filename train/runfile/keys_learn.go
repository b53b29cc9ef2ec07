package runfile

import (
	"time"
)

var reinforcementKeys = []Key{
	{Name: "ppo.algorithm", About: "how the policy learns from what was played: by PPO, or by REINFORCE, which passes once and needs no ratio", Allow: oneOf("ppo", "reinforce")},
	{Name: "ppo.epochs", About: "passes over the rounds of an iteration", Allow: count},
	{Name: "ppo.minibatch", About: "rounds per step of the optimizer", Allow: count},
	{Name: "ppo.rate", About: "learning rate of the policy at the first iteration, falling linearly to 0", Allow: fraction},
	{Name: "ppo.critic_rate", About: "learning rate of the critic", Allow: fraction},
	{Name: "ppo.clip", About: "ε of the clipped ratio", Allow: fraction},
	{Name: "ppo.entropy", About: "weight of the entropy bonus; 0: none", Allow: orNone, Off: true},
	{Name: "ppo.leash", About: "weight of KL(π ‖ policy at the start of `critic`), falling linearly to 0; 0: none", Allow: orNone, Off: true},
	{Name: "ppo.target_kl", About: "an iteration's updates stop where `kl` passes 1.5 times this", Allow: positive},
	{Name: "ppo.grad_norm", About: "limit on the norm of the gradient, of policy and critic each", Allow: positive},
	{Name: "ppo.lambda", About: "λ of generalized advantage estimation", Allow: share},
	{Name: "ppo.falls", About: "the clip and the critic's rate fall linearly to 0 over the iterations, too", Allow: onOff},
	{Name: "ppo.horizon", About: "rewards count exp(−Δt / horizon)", Allow: lasting(1)},
	{Name: "ppo.reward_scale", About: "factor of rewards; 0 measures it in the first iteration", Allow: orNone},
	{Name: "ppo.value_weight", About: "weight of the critic's loss, which matters with `joint_norm` only", Allow: positive},
	{Name: "ppo.minibatch_advantages", About: "advantages are normalised in each minibatch, not over the iteration", Allow: onOff},
	{Name: "ppo.joint_norm", About: "`grad_norm` limits the gradients of policy and critic together", Allow: onOff},
	{Name: "ppo.critic_falls", About: "the critic's rate falls linearly to 0, as with `falls`, and the clip stays", Allow: onOff},
	{Name: "ppo.clip_value", About: "the value's loss is clipped as the policy's is", Allow: onOff},
	{Name: "ppo.iterations", About: "iterations; 0: no PPO", Allow: orNone, Off: true},
	{Name: "ppo.groups", About: "training episodes per iteration", Allow: count},
	{Name: "ppo.per_group", About: "times each is played", Allow: count},
	{Name: "ppo.sharpen", About: "factor on the scores before reinforcement", Allow: positive},
	{Name: "ppo.keep", About: "share of the rounds whose observations are recorded and learned from", Allow: share},
	{Name: "ppo.validate_every", About: "iterations between validations; the last is always validated", Allow: count},
	{Name: "ppo.patience", About: "validations in a row without a new best model that end the stage; 0: none do", Allow: orNone},
	{Name: "ppo.critic_epochs", About: "most passes of the fit of the critic", Allow: count},
	{Name: "ppo.critic_enough", About: "explained variance that ends it", Allow: share},
}

var tuneKeys = []Key{
	{Name: "tune.episodes", About: "training episodes whose windows are searched", Allow: atLeast("2 or more, so that some are held out", 2)},
	{Name: "tune.lessons", About: "searched windows of each", Allow: count},
	{Name: "tune.stride", About: "windows from one lesson to the next", Allow: count},
	{Name: "tune.explore", About: "probability of a random configuration in a window while lessons are recorded", Allow: share},
	{Name: "tune.temperature", About: "of the soft labels, as a share of the mean relative cost of the lessons", Allow: positive},
	{Name: "tune.window", About: "how long a configuration holds", Allow: lasting(time.Minute)},
	{Name: "tune.futures", About: "generated futures that configurations are scored on", Allow: count},
	{Name: "tune.held_out", About: "further futures on which the best has to beat the one in force", Allow: atLeast("2 or more, or a difference has no standard error", 2)},
	{Name: "tune.horizon", About: "simulated time of each future", Allow: lasting(time.Minute)},
	{Name: "tune.tries", About: "configurations scored in a search, a random choice; 0: all of them", Allow: interval("0, or 2 or more", func(x float64) bool { return x == 0 || x >= 2 })},
	{Name: "tune.margin", About: "standard errors of the paired difference by which the best has to win", Allow: positive},
	{Name: "tune.hidden", About: "width of the network's layers", Allow: width},
	{Name: "tune.holdout", About: "share of the lessons, the last ones, that choose the epoch", Allow: fraction},
	{Name: "tune.epochs", About: "passes over the lessons", Allow: count},
	{Name: "tune.minibatch", About: "lessons per step of the optimizer", Allow: count},
	{Name: "tune.rate", About: "learning rate of the first epoch, falling linearly to a tenth", Allow: fraction},
	{Name: "tune.grad_norm", About: "limit on the norm of the gradient", Allow: positive},
	{Name: "tune.decay", About: "pull of the parameters to 0 per step, times the learning rate", Allow: interval("0 or more, less than 1", func(x float64) bool { return x >= 0 && x < 1 })},
}
