package datasets

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/klauspost/compress/zstd"
)

// Save writes j in the form that the name of the file asks for: CSV where it
// ends in .csv, .csv.gz or .csv.zst, else Parquet. As with [Write], the file
// appears under its name when it is complete, and equal tables give equal
// files.
func Save(path string, j *Jobs) error {
	compress, isCSV := csvCompression(path)
	if !isCSV {
		return Write(path, j)
	}
	if err := j.Validate(); err != nil {
		return err
	}
	return saveCSV(path, compress, func(w io.Writer) error { return EncodeCSV(w, j) })
}

// SaveCSV writes a table that is being scanned to a CSV file, as [Save] does,
// with memory for its ids alone.
func SaveCSV(path string, s *Scanner) error {
	compress, isCSV := csvCompression(path)
	if !isCSV {
		return fmt.Errorf("datasets: write %s: want a name that ends in .csv, .csv.gz or .csv.zst", path)
	}
	return saveCSV(path, compress, func(w io.Writer) error { return StreamCSV(w, s) })
}

// IsCSV reports whether [Save] makes a file of this name CSV.
func IsCSV(path string) bool {
	_, isCSV := csvCompression(path)
	return isCSV
}

func saveCSV(path string, compress compressor, encode func(io.Writer) error) error {
	pending, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644))
	if err != nil {
		return fmt.Errorf("datasets: write %s: %w", path, err)
	}
	if err := encodeCompressed(pending, compress, encode); err != nil {
		return errors.Join(fmt.Errorf("datasets: write %s: %w", path, err), pending.Cleanup())
	}
	if err := pending.CloseAtomicallyReplace(); err != nil {
		return errors.Join(fmt.Errorf("datasets: write %s: %w", path, err), pending.Cleanup())
	}
	return nil
}

// compressor wraps a writer; closing it does not close what it wraps.
type compressor func(io.Writer) (io.WriteCloser, error)

// csvCompression returns how a file of this name is compressed, and whether it
// is a CSV file.
func csvCompression(path string) (compressor, bool) {
	switch {
	case strings.HasSuffix(path, ".csv"):
		return func(w io.Writer) (io.WriteCloser, error) { return nopCloser{w}, nil }, true
	case strings.HasSuffix(path, ".csv.gz"):
		return func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }, true
	case strings.HasSuffix(path, ".csv.zst"):
		return func(w io.Writer) (io.WriteCloser, error) {
			return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)) // more would give other bytes
		}, true
	}
	return nil, false
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func encodeCompressed(w io.Writer, compress compressor, encode func(io.Writer) error) error {
	text, err := compress(w)
	if err != nil {
		return err
	}
	return errors.Join(encode(text), text.Close())
}
