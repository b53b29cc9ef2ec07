package train

// DefaultPrior returns the weights that training starts from: those that
// evolution strategies (package es, 8 pairs, 4 episodes, 104 generations, from
// DensityPrior) found on eight settings in turn: Gavel's generated workload at
// loads 0.7 to 1.8 and Philly's jobs at loads 1 and 2, on three clusters, with
// true, estimated and unknown work. README.md compares both priors.
//
// What they say: shortest remaining work first, more so the higher the load
// (long_loaded); many GPUs per job while there are more than jobs ask for, few
// under load (gpus_loaded), and no large share of a GPU type for one job (share);
// GPUs to the jobs that gain most by them (speed, speed_per_gpu, comparative); no
// moves for little (moves, restart_share). Columns that were constant in all
// settings have no weight: tenants' weights enter by the density.
func DefaultPrior() map[string]float64 {
	return map[string]float64{
		"is_stop":        -15,
		"log_density":    1.47,
		"remaining_here": -0.18,
		"remaining":      1.18,
		"rank":           0.28,
		"backlog":        0.79,
		"speed":          0.84,
		"speed_per_gpu":  1.14,
		"best_type":      0.62,
		"comparative":    0.46,
		"gpus":           -0.63,
		"share":          -1.31,
		"elastic":        0.71,
		"here":           -0.09,
		"moves":          -0.25,
		"restart":        0.47,
		"restart_share":  -0.68,
		"waiting":        -0.29,
		"age":            0.41,
		"attained":       0.03,
		"attained_rank":  -0.13,
		"order":          0.53,
		"started":        0.1,
		"pressure":       -0.48,
		"spread":         0.68,
		"long_loaded":    -0.99,
		"gpus_loaded":    -2.34,
		"long_speed":     0.55,
		"rank_gpus":      -0.63,
	}
}
