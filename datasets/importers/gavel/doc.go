// Package gavel reads the files of Gavel (Narayanan et al., OSDI 2020,
// github.com/stanford-futuredata/gavel): traces, streams of its job generator,
// throughput oracles and results of its simulator. Licence: MIT.
//
// # Files
//
//   - Traces, tab-separated, of 10 columns (job type, command, directory, steps
//     argument, needs data, steps, GPUs, priority weight, SLO, arrival) or of
//     the older 7 (job type, command, steps argument, needs data, steps,
//     arrival, GPUs): [ReadTrace], [Import].
//   - Streams, CSV: job_id, unit_arrival, model, batch_size, gpus,
//     duration_s_v100, total_steps. Arrivals are in units of the mean
//     inter-arrival time: [ReadStream].
//   - Throughput oracles, JSON: steps/s of each job type on each GPU type,
//     alone and co-located: [ReadOracle].
//   - Results, CSV: [ReadReference] and [ReadTimes].
//
// # Traps
//
//   - Keys of the oracle are Python tuples as strings, ('LM (batch size 5)', 2);
//     "null" is the job alone. 0 steps/s means that it ran out of memory.
//   - Steps/s is summed over the workers; the batch size is per worker.
//   - On V100, Recommendation is about 11.8 times slower in
//     simulation_throughputs.json than in physical_cluster_throughputs.json:
//     the former reproduces published figures, the latter is to be trained on.
//   - Co-located values of the physical file are a copy of the simulation's,
//     so they do not fit the isolated values beside them. An [Oracle] knows its
//     jobs' isolated values only with those of its own file.
//   - A few entries are slower on more GPUs; nothing is repaired.
//   - CycleGAN and A3C have no batch size in their names.
//   - SLO is -1 for none; steps of a stream are not whole.
//   - The GPU counts of traces of 7 columns may have no entry in the oracle.
//
// # Limits
//
// GPU types are named in capitals ("V100"), as in env/perf. An oracle has at
// most [MaxOracle] bytes.
package gavel
