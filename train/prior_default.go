package train

// DefaultPrior returns the weights that training starts from: those that
// evolution strategies (package es, 8 pairs, 4 episodes, 64 generations, from
// DensityPrior) found on eight settings in turn: Gavel's generated workload at
// loads 0.7 to 1.8 and Philly's jobs at loads 1 and 2, on three clusters, with
// true, estimated and unknown work. README.md compares both priors.
//
// What they say: shortest remaining work first, more so the higher the load
// (long_loaded) and less so on the job's slow GPUs (long_speed); many GPUs per job
// while there are more than jobs ask for, few under load (gpus_loaded); GPUs to
// the jobs that gain most by them (comparative, speed_per_gpu); no moves for little
// (moves, restart_share). Columns that were constant in all settings have no
// weight: tenants' weights enter by the density.
func DefaultPrior() map[string]float64 {
	return map[string]float64{
		"is_stop":        -15,
		"log_density":    1.75,
		"remaining_here": 0.08,
		"remaining":      0.79,
		"rank":           0.69,
		"backlog":        0.51,
		"speed":          0.68,
		"speed_per_gpu":  0.58,
		"best_type":      0.42,
		"comparative":    0.82,
		"gpus":           -0.46,
		"share":          -1.31,
		"elastic":        0.64,
		"here":           0.07,
		"moves":          -0.4,
		"restart":        0.19,
		"restart_share":  -1.24,
		"waiting":        0.19,
		"age":            0.74,
		"attained":       0.4,
		"attained_rank":  -0.32,
		"order":          0.67,
		"started":        0.28,
		"pressure":       -0.34,
		"spread":         0.45,
		"long_loaded":    -1.01,
		"gpus_loaded":    -1.94,
		"long_speed":     0.69,
		"rank_gpus":      -0.04,
	}
}
