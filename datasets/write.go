package datasets

import (
	"errors"
	"fmt"
	"io"

	"github.com/google/renameio/v2"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// rowsPerGroup is the size of a row group: large enough to compress well, small
// enough that a reader holds one at a time.
const rowsPerGroup = 64 << 10

// Write writes j as a Parquet file in the current schema version. The file
// appears under its name when it is complete and synced, never before: a crash
// or an error leaves what was there. Equal tables give equal files.
func Write(path string, j *Jobs) error {
	if err := j.Validate(); err != nil {
		return err
	}
	pending, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644))
	if err != nil {
		return fmt.Errorf("datasets: write %s: %w", path, err)
	}
	if err := encode(pending, j); err != nil {
		return errors.Join(fmt.Errorf("datasets: write %s: %w", path, err), pending.Cleanup())
	}
	if err := pending.CloseAtomicallyReplace(); err != nil {
		return errors.Join(fmt.Errorf("datasets: write %s: %w", path, err), pending.Cleanup())
	}
	return nil
}

// encode writes the Parquet form of j, which is valid.
func encode(w io.Writer, j *Jobs) error {
	meta, err := j.Meta.encode(len(j.Rows))
	if err != nil {
		return err
	}
	out := parquet.NewGenericWriter[record](w,
		&parquet.WriterConfig{KeyValueMetadata: meta},
		parquet.Compression(&zstd.Codec{}),
		// Not the version of the library: equal tables give equal files.
		parquet.CreatedBy("yardmaster", "schema", fmt.Sprint(SchemaVersion)),
	)
	batch := make([]record, 0, rowsPerGroup)
	for i := range j.Rows {
		batch = append(batch, j.Rows[i].record())
		if len(batch) < rowsPerGroup && i < len(j.Rows)-1 {
			continue
		}
		if _, err := out.Write(batch); err != nil {
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
		batch = batch[:0]
	}
	return out.Close()
}
