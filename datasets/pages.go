package datasets

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// chunkShape is what the pages of a column chunk must fit.
type chunkShape struct {
	rows     int64
	optional bool // values may be null: pages carry definition levels of one bit
	kind     format.Type
	codec    format.CompressionCodec
}

// budget returns how many bytes the pages of a chunk may come to when they are
// decompressed: twice what its values can take, since a dictionary may repeat
// them, levels included, and some for headers' sake.
func (s *chunkShape) budget() int64 {
	width := int64(8)
	if s.kind == format.ByteArray {
		width = MaxName + 4
	}
	return 64<<10 + 2*s.rows*(width+1)
}

// pageGuard checks pages one at a time and keeps its buffers between them.
type pageGuard struct {
	zstd   *zstd.Decoder
	header []byte
	body   []byte
	plain  []byte // decompressed
}

func newPageGuard() *pageGuard { return &pageGuard{header: make([]byte, maxPageHeader)} }

func (g *pageGuard) close() {
	if g.zstd != nil {
		g.zstd.Close()
	}
}

// check checks the pages in [start, end) of r, which must hold as many values
// as there are rows.
func (g *pageGuard) check(r io.ReaderAt, start, end int64, shape chunkShape) error {
	dictionary := -1 // number of entries; -1 is none
	values, budget := int64(0), shape.budget()
	for first := true; start < end; first = false {
		header, length, err := g.readHeader(r, start, end)
		if err != nil {
			return err
		}
		start += length
		if err := checkSizes(header, end-start); err != nil {
			return err
		}
		if budget -= int64(header.UncompressedPageSize); budget < 0 {
			return tooLong(shape)
		}
		body, err := readInto(&g.body, r, start, int(header.CompressedPageSize))
		if err != nil {
			return err
		}
		start += int64(len(body))
		if header.Type == format.DictionaryPage {
			if !first {
				return errors.New("a dictionary that is not the first page")
			}
			if dictionary, err = g.checkDictionary(header, body, shape); err != nil {
				return err
			}
			continue
		}
		n, err := g.checkData(header, body, shape, dictionary, shape.rows-values)
		if err != nil {
			return err
		}
		values += n
	}
	if values != shape.rows {
		return fmt.Errorf("pages with %d values for %d rows", values, shape.rows)
	}
	return nil
}

// tooLong says that a chunk has more data than its rows can need.
func tooLong(shape chunkShape) error {
	what := fmt.Sprintf("more than %d bytes in %d rows", shape.budget(), shape.rows)
	if shape.kind == format.ByteArray {
		return &RowError{Value: what, Fix: "are there very long strings? want at most 256 bytes of UTF-8"}
	}
	return errors.New(what)
}

// readHeader reads the page header at start and returns its length. Most are
// short; statistics of long strings make them longer.
func (g *pageGuard) readHeader(r io.ReaderAt, start, end int64) (*format.PageHeader, int64, error) {
	var buf []byte
	n, err := 0, errCompact
	for size := int64(512); err != nil && int64(len(buf)) < min(end-start, maxPageHeader); size = maxPageHeader {
		buf = g.header[:min(size, end-start)]
		if _, err := r.ReadAt(buf, start); err != nil {
			return nil, 0, fmt.Errorf("read a page header: %w", err)
		}
		n, err = compactLen(buf, 0)
	}
	if err != nil && len(buf) == maxPageHeader {
		return nil, 0, &RowError{Value: fmt.Sprintf("a page header of more than %d bytes", maxPageHeader), Fix: "are there very long strings? want at most 256 bytes of UTF-8"}
	}
	if err != nil {
		return nil, 0, fmt.Errorf("page header: %w", err)
	}
	header := new(format.PageHeader)
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), buf[:n], header); err != nil {
		return nil, 0, fmt.Errorf("page header: %w", err)
	}
	return header, int64(n), nil
}

func checkSizes(h *format.PageHeader, left int64) error {
	if h.CompressedPageSize < 0 || int64(h.CompressedPageSize) > left {
		return fmt.Errorf("a page of %d bytes where %d are left", h.CompressedPageSize, left)
	}
	if h.UncompressedPageSize < 0 || h.UncompressedPageSize > maxPage {
		return fmt.Errorf("a page of %d bytes uncompressed, want at most %d", h.UncompressedPageSize, maxPage)
	}
	return nil
}

// readInto reads n bytes at an offset into *buf, which it grows as needed.
func readInto(buf *[]byte, r io.ReaderAt, offset int64, n int) ([]byte, error) {
	if cap(*buf) < n {
		*buf = make([]byte, n)
	}
	b := (*buf)[:n]
	if n == 0 {
		return b, nil
	}
	if _, err := r.ReadAt(b, offset); err != nil {
		return nil, fmt.Errorf("read a page: %w", err)
	}
	return b, nil
}

// checkDictionary checks a dictionary page and returns its number of entries.
func (g *pageGuard) checkDictionary(h *format.PageHeader, body []byte, shape chunkShape) (int, error) {
	if !h.DictionaryPageHeader.Valid {
		return 0, errors.New("a dictionary page without its header")
	}
	d := &h.DictionaryPageHeader.V
	if d.Encoding != format.Plain && d.Encoding != plainDictionary {
		return 0, unsupported("dictionary", d.Encoding)
	}
	data, err := g.decompress(shape.codec, body, int(h.UncompressedPageSize))
	if err != nil {
		return 0, err
	}
	n := int(d.NumValues)
	if n < 0 {
		return 0, fmt.Errorf("a dictionary of %d entries", n)
	}
	return n, checkPlain(data, n, shape.kind)
}

// checkData checks a data page and returns its number of values, nulls
// included, which is at most left.
func (g *pageGuard) checkData(h *format.PageHeader, body []byte, shape chunkShape, dictionary int, left int64) (int64, error) {
	var values, present int
	var encoding format.Encoding
	var data []byte
	var err error
	switch {
	case h.Type == format.DataPage && h.DataPageHeader.Valid:
		v := &h.DataPageHeader.V
		values, encoding = int(v.NumValues), v.Encoding
		if err := checkCount(values, left); err != nil {
			return 0, err
		}
		if data, err = g.decompress(shape.codec, body, int(h.UncompressedPageSize)); err != nil {
			return 0, err
		}
		present, data, err = levelsV1(v, data, shape)
	case h.Type == format.DataPageV2 && h.DataPageHeaderV2.Valid:
		v := &h.DataPageHeaderV2.V
		values, encoding = int(v.NumValues), v.Encoding
		if err := checkCount(values, left); err != nil {
			return 0, err
		}
		present, data, err = g.levelsV2(h, body, shape)
	default:
		return 0, fmt.Errorf("a page of type %d without its header", h.Type)
	}
	if err != nil {
		return 0, err
	}
	return int64(values), checkEncoded(data, encoding, present, dictionary, shape.kind)
}

func checkCount(values int, left int64) error {
	if values < 0 || int64(values) > left {
		return fmt.Errorf("a page of %d values where %d are left", values, left)
	}
	return nil
}

// levelsV1 returns the number of values that are not null and their data.
func levelsV1(v *format.DataPageHeader, data []byte, shape chunkShape) (int, []byte, error) {
	if !shape.optional {
		return int(v.NumValues), data, nil
	}
	if v.DefinitionLevelEncoding != format.RLE {
		return 0, nil, unsupported("definition level", v.DefinitionLevelEncoding)
	}
	if len(data) < 4 || uint64(binary.LittleEndian.Uint32(data)) > uint64(len(data)-4) {
		return 0, nil, errors.New("definition levels longer than their page")
	}
	n := 4 + int(binary.LittleEndian.Uint32(data))
	present, err := countLevels(data[4:n], int(v.NumValues))
	return present, data[n:], err
}

// levelsV2 is levelsV1 for pages whose levels stand before the compressed part.
func (g *pageGuard) levelsV2(h *format.PageHeader, body []byte, shape chunkShape) (int, []byte, error) {
	v := &h.DataPageHeaderV2.V
	n := int(v.DefinitionLevelsByteLength)
	if v.RepetitionLevelsByteLength != 0 || n < 0 || n > len(body) || n > int(h.UncompressedPageSize) {
		return 0, nil, fmt.Errorf("levels of %d and %d bytes in a page of %d", v.RepetitionLevelsByteLength, n, len(body))
	}
	if int64(v.NumRows) != int64(v.NumValues) {
		return 0, nil, fmt.Errorf("%d values in %d rows", v.NumValues, v.NumRows)
	}
	present := int(v.NumValues)
	if shape.optional {
		var err error
		if present, err = countLevels(body[:n], int(v.NumValues)); err != nil {
			return 0, nil, err
		}
	}
	if int(v.NumNulls) != int(v.NumValues)-present {
		return 0, nil, fmt.Errorf("%d nulls where its levels say %d", v.NumNulls, int(v.NumValues)-present)
	}
	if v.IsCompressed.Valid && !v.IsCompressed.V {
		return present, body[n:], nil
	}
	data, err := g.decompress(shape.codec, body[n:], int(h.UncompressedPageSize)-n)
	return present, data, err
}

// decompress returns body decompressed, which must come to exactly size bytes.
// The result is valid until the next call.
func (g *pageGuard) decompress(codec format.CompressionCodec, body []byte, size int) ([]byte, error) {
	if codec == format.Uncompressed {
		return body, nil
	}
	if cap(g.plain) < size+1 {
		g.plain = make([]byte, size+1)
	}
	out, err := g.decode(codec, body, size)
	if err != nil {
		return nil, fmt.Errorf("decompress a page: %w", err)
	}
	if len(out) != size {
		return nil, fmt.Errorf("a page of %d bytes that should have %d", len(out), size)
	}
	return out, nil
}

// decode decompresses into g.plain without growing it: it has room for one
// byte too many, so that an overlong page is seen and not followed.
func (g *pageGuard) decode(codec format.CompressionCodec, body []byte, size int) ([]byte, error) {
	dst := g.plain[: 0 : size+1]
	switch codec {
	case format.Zstd:
		if g.zstd == nil {
			d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(maxPage))
			if err != nil {
				return nil, err
			}
			g.zstd = d
		}
		return g.zstd.DecodeAll(body, dst)
	case format.Snappy:
		if n, err := snappy.DecodedLen(body); err != nil || n != size {
			return nil, fmt.Errorf("%d bytes that should be %d: %w", n, size, errors.Join(err, snappy.ErrCorrupt))
		}
		return snappy.Decode(dst[:size], body)
	case format.Gzip:
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		n, err := io.ReadFull(z, dst[:size+1])
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			err = nil // shorter than the room for one byte too many
		}
		return dst[:n], err
	}
	return nil, &RowError{Value: "compressed with " + codec.String(), Fix: "write it with zstd, snappy, gzip or no compression"}
}
