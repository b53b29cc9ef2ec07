// Package datasets holds traces: tables of jobs in Parquet, strictly checked
// on the way in and on the way out, and the way from a table to the jobs of a
// simulation.
//
// A table is made by an importer or a generator, written with [Write], read
// with [Read], cut by time with [Jobs.Split], turned into simulator jobs with
// [Resolve] and played in episodes drawn by [Windows]. [Jobs.Slice],
// [Jobs.Scale] and [Merge] make other tables of it and say so in its metadata;
// [EncodeCSV] and [DecodeCSV] take it to text and back without loss. Tables larger
// than memory are written with [Writer] and read with [Scanner]. SCHEMA.md
// documents the file column by column.
//
// Beside the jobs there are tables of throughputs, of pairs of jobs on the same
// GPUs, of the nodes of clusters and of quotas: see [Table] and [Kinds].
//
// # Units
//
// Times are integer nanoseconds since the epoch of the table, durations integer
// nanoseconds, work is in training steps, batch sizes are samples per step and
// worker, service and load are in GPU-seconds on a reference GPU type.
//
// # Limits
//
// A table has at most [MaxRows] rows, a job at most [MaxGPUs] GPUs, a name at
// most [MaxName] bytes, a time lies within [MaxTime] of the epoch. A table in
// memory takes about 130 bytes a row; a [Scanner] holds one page of each column. The
// reader takes Parquet with zstd, snappy, gzip or no compression and
// the encodings PLAIN, RLE_DICTIONARY, DELTA_BINARY_PACKED,
// DELTA_LENGTH_BYTE_ARRAY and BYTE_STREAM_SPLIT, which covers what pyarrow and
// DuckDB write for these columns.
//
// Nothing here is safe for concurrent use unless it says so; tables are plain
// values that may be read by many goroutines.
package datasets
